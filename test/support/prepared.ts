import { inject } from 'vitest';
import type { Prepared } from '#setup/prepare.ts';

/** What set-up made, as the suites need it. */
export type PreparedHost = Pick<Prepared, 'engine' | 'templates' | 'tools' | 'artifacts'>;

declare module 'vitest' {
  interface ProvidedContext {
    host: PreparedHost;
  }
}

/** The machine's engine, templates and guest files. */
export const preparedHost = (): PreparedHost => inject('host');
