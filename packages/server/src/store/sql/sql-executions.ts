import type { Kysely, Transaction } from 'kysely';
import type {
  ExecutionEnd,
  ExecutionPage,
  ExecutionRecord,
  ExecutionStore,
  ExecutionSummary,
  NewExecution,
  StoredOutput,
} from '../../core/ports/store/execution-store.ts';
import type { ExecutionsTable, Schema } from '../schema.ts';
import type { Database } from './database.ts';

const noOutput = new Uint8Array();

/** How many executions lose their output in one transaction, so that nobody waits long for it. */
const maxDrops = 200;

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
      output_bytes: 0,
      output_dropped: 0,
      truncated: 0,
      oom_killed: 0,
      duration_ms: null,
      started_at_ms: execution.startedAtMs,
      finished_at_ms: null,
      live: execution.isLive ? 1 : 0,
      written_bytes: null,
    };
    await this.#database.run('executions.insert', (db) => db.insertInto('executions').values(row).execute());
  }

  async finish(id: string, end: ExecutionEnd): Promise<StoredOutput | undefined> {
    const outputBytes = end.stdout.length + end.stderr.length;
    const columns: Partial<ExecutionsTable> = {
      status: end.status,
      exit_code: end.exitCode,
      stdout: end.stdout,
      stderr: end.stderr,
      output_bytes: outputBytes,
      truncated: end.truncated ? 1 : 0,
      oom_killed: end.oomKilled ? 1 : 0,
      duration_ms: end.durationMs,
      finished_at_ms: end.finishedAtMs,
      written_bytes: end.writtenBytes,
    };
    const update = (db: Kysely<Schema>) =>
      db.updateTable('executions').set(columns).where('id', '=', id).where('status', '=', 'running');
    if (outputBytes === 0) {
      await this.#database.run('executions.finish', (db) => update(db).execute());
      return undefined;
    }
    return await this.#database.transact('executions.finish', async (transaction) => {
      const finished = await update(transaction).returning('account_id').executeTakeFirst();
      return finished && (await addStoredBytes(transaction, finished.account_id, outputBytes));
    });
  }

  dropOldestOutput(accountId: string, maxBytes: number): Promise<number> {
    return this.#database.transact('executions.dropOldestOutput', async (transaction) => {
      // Adding nothing locks the account and reads its total.
      const { totalBytes } = await addStoredBytes(transaction, accountId, 0);
      const oldest = await transaction
        .selectFrom('executions')
        .select(['id', 'output_bytes'])
        .where('account_id', '=', accountId)
        .where('output_bytes', '>', 0)
        .orderBy('finished_at_ms')
        .limit(maxDrops)
        .execute();
      let freedBytes = 0;
      const ids: string[] = [];
      for (const { id, output_bytes: bytes } of oldest) {
        if (totalBytes - freedBytes <= maxBytes) break;
        freedBytes += bytes;
        ids.push(id);
      }
      if (ids.length === 0) return 0;
      const dropped = { stdout: noOutput, stderr: noOutput, output_bytes: 0, output_dropped: 1 };
      await transaction.updateTable('executions').set(dropped).where('id', 'in', ids).execute();
      await addStoredBytes(transaction, accountId, -freedBytes);
      return ids.length;
    });
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

  async findSummary(accountId: string, id: string): Promise<ExecutionSummary | undefined> {
    const row = await this.#database.run('executions.findSummary', (db) =>
      db
        .selectFrom('executions')
        .select(summaryColumns)
        .where('id', '=', id)
        .where('account_id', '=', accountId)
        .executeTakeFirst(),
    );
    return row && summaryOf(row);
  }

  async list(sandboxId: string, { limit, afterId, status }: ExecutionPage): Promise<readonly ExecutionSummary[]> {
    const rows = await this.#database.run('executions.list', (db) => {
      let query = db.selectFrom('executions').select(summaryColumns).where('sandbox_id', '=', sandboxId);
      if (status !== undefined) query = query.where('status', '=', status);
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

/** Adds to the bytes that an account has stored; negative to subtract. Returns what it has then. */
export async function addStoredBytes(
  transaction: Transaction<Schema>,
  accountId: string,
  bytes: number,
): Promise<StoredOutput> {
  const row = await transaction
    .updateTable('accounts')
    .set((account) => ({ stored_output_bytes: account('stored_output_bytes', '+', bytes) }))
    .where('id', '=', accountId)
    .returning(['stored_output_bytes', 'limit_stored_output_mb'])
    .executeTakeFirstOrThrow();
  return { accountId, totalBytes: row.stored_output_bytes, ownLimitMb: row.limit_stored_output_mb };
}

const summaryColumns = [
  'id',
  'account_id',
  'sandbox_id',
  'status',
  'exit_code',
  'output_dropped',
  'truncated',
  'oom_killed',
  'duration_ms',
  'started_at_ms',
  'finished_at_ms',
  'live',
  'written_bytes',
] as const;

function summaryOf(row: Pick<ExecutionsTable, (typeof summaryColumns)[number]>): ExecutionSummary {
  return {
    id: row.id,
    accountId: row.account_id,
    sandboxId: row.sandbox_id,
    status: row.status,
    exitCode: row.exit_code,
    outputDropped: row.output_dropped !== 0,
    truncated: row.truncated !== 0,
    oomKilled: row.oom_killed !== 0,
    durationMs: row.duration_ms,
    startedAtMs: row.started_at_ms,
    finishedAtMs: row.finished_at_ms,
    isLive: row.live !== 0,
    writtenBytes: row.written_bytes,
  };
}
