import type {
  ExecutionEnd,
  ExecutionPage,
  ExecutionRecord,
  ExecutionStore,
  ExecutionSummary,
  NewExecution,
} from '../../core/ports/store/execution-store.ts';
import type { ExecutionsTable } from '../schema.ts';
import type { Database } from './database.ts';

const noOutput = new Uint8Array();

/** Executions in SQL. */
export class SqlExecutions implements ExecutionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async insert(execution: NewExecution): Promise<void> {
    const row: ExecutionsTable = {
      id: execution.id,
      account_id: execution.accountId,
      sandbox_id: execution.sandboxId,
      status: 'running',
      exit_code: null,
      stdout: noOutput,
      stderr: noOutput,
      truncated: 0,
      oom_killed: 0,
      duration_ms: null,
      started_at_ms: execution.startedAtMs,
      finished_at_ms: null,
    };
    await this.#database.run('executions.insert', (db) => db.insertInto('executions').values(row).execute());
  }

  async finish(id: string, end: ExecutionEnd): Promise<void> {
    const columns: Partial<ExecutionsTable> = {
      status: end.status,
      exit_code: end.exitCode,
      stdout: end.stdout,
      stderr: end.stderr,
      truncated: end.truncated ? 1 : 0,
      oom_killed: end.oomKilled ? 1 : 0,
      duration_ms: end.durationMs,
      finished_at_ms: end.finishedAtMs,
    };
    await this.#database.run('executions.finish', (db) =>
      db.updateTable('executions').set(columns).where('id', '=', id).where('status', '=', 'running').execute(),
    );
  }

  async find(accountId: string, id: string): Promise<ExecutionRecord | undefined> {
    const row = await this.#database.run('executions.find', (db) =>
      db
        .selectFrom('executions')
        .selectAll()
        .where('id', '=', id)
        .where('account_id', '=', accountId)
        .executeTakeFirst(),
    );
    return row && { ...summaryOf(row), stdout: row.stdout, stderr: row.stderr };
  }

  async list(sandboxId: string, { limit, afterId }: ExecutionPage): Promise<readonly ExecutionSummary[]> {
    const rows = await this.#database.run('executions.list', (db) => {
      let query = db.selectFrom('executions').select(summaryColumns).where('sandbox_id', '=', sandboxId);
      if (afterId !== undefined) {
        const after = db.selectFrom('executions').where('id', '=', afterId).where('sandbox_id', '=', sandboxId);
        query = query.where((row) =>
          row.or([
            row('started_at_ms', '<', after.select('started_at_ms')),
            row.and([row('started_at_ms', '=', after.select('started_at_ms')), row('id', '<', afterId)]),
          ]),
        );
      }
      return query.orderBy('started_at_ms', 'desc').orderBy('id', 'desc').limit(limit).execute();
    });
    return rows.map(summaryOf);
  }

  async running(): Promise<readonly NewExecution[]> {
    const rows = await this.#database.run('executions.running', (db) =>
      db.selectFrom('executions').select(summaryColumns).where('status', '=', 'running').execute(),
    );
    return rows.map(summaryOf);
  }
}

const summaryColumns = [
  'id',
  'account_id',
  'sandbox_id',
  'status',
  'exit_code',
  'truncated',
  'oom_killed',
  'duration_ms',
  'started_at_ms',
  'finished_at_ms',
] as const;

function summaryOf(row: Pick<ExecutionsTable, (typeof summaryColumns)[number]>): ExecutionSummary {
  return {
    id: row.id,
    accountId: row.account_id,
    sandboxId: row.sandbox_id,
    status: row.status,
    exitCode: row.exit_code,
    truncated: row.truncated !== 0,
    oomKilled: row.oom_killed !== 0,
    durationMs: row.duration_ms,
    startedAtMs: row.started_at_ms,
    finishedAtMs: row.finished_at_ms,
  };
}
