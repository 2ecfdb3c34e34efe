import type {
  ExecutionEnd,
  ExecutionRecord,
  ExecutionStore,
  NewExecution,
} from '../../core/ports/store/execution-store.ts';
import type { Database } from './database.ts';

const nothing = new Uint8Array();

/** Executions in SQL. */
export class SqlExecutions implements ExecutionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async insert(execution: NewExecution): Promise<void> {
    await this.#database.db
      .insertInto('executions')
      .values({
        id: execution.id,
        account_id: execution.accountId,
        sandbox_id: execution.sandboxId,
        status: 'running',
        exit_code: null,
        stdout: nothing,
        stderr: nothing,
        truncated: 0,
        duration_ms: null,
        started_at_ms: execution.startedAtMs,
        finished_at_ms: null,
      })
      .execute();
  }

  async finish(id: string, end: ExecutionEnd): Promise<void> {
    await this.#database.db
      .updateTable('executions')
      .set({
        status: end.status,
        exit_code: end.exitCode,
        stdout: end.stdout,
        stderr: end.stderr,
        truncated: end.truncated ? 1 : 0,
        duration_ms: end.durationMs,
        finished_at_ms: end.finishedAtMs,
      })
      .where('id', '=', id)
      .where('status', '=', 'running')
      .execute();
  }

  async find(accountId: string, id: string): Promise<ExecutionRecord | undefined> {
    const query = this.#database.db.selectFrom('executions').selectAll().where('id', '=', id);
    const row = await query.where('account_id', '=', accountId).executeTakeFirst();
    if (row === undefined) return undefined;
    return {
      id: row.id,
      accountId: row.account_id,
      sandboxId: row.sandbox_id,
      status: row.status,
      exitCode: row.exit_code,
      stdout: row.stdout,
      stderr: row.stderr,
      truncated: row.truncated !== 0,
      durationMs: row.duration_ms,
      startedAtMs: row.started_at_ms,
      finishedAtMs: row.finished_at_ms,
    };
  }

  async failRunning(finishedAtMs: number): Promise<number> {
    const failed = { status: 'failed', finished_at_ms: finishedAtMs } as const;
    const result = await this.#database.db
      .updateTable('executions')
      .set(failed)
      .where('status', '=', 'running')
      .executeTakeFirst();
    return Number(result.numUpdatedRows);
  }
}
