import type { ColumnDataType } from 'kysely';

/** What differs between engines in a migration. */
export interface MigrationEngine {
  /** The type of a column of raw bytes. */
  readonly bytes: Extract<ColumnDataType, 'blob' | 'bytea'>;
}
