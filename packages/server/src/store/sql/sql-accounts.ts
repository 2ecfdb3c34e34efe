import { type AccountLimits, accountLimitNames } from '@mayfly/contract';
import { type Selectable, sql, type Transaction } from 'kysely';
import type {
  AccountRecord,
  AccountStore,
  AccountUse,
  ApiKeyRecord,
  KeyOwner,
  NewAccount,
  NewApiKey,
} from '../../core/ports/store/account-store.ts';
import type { AccountsTable, Schema } from '../schema.ts';
import type { Database } from './database.ts';
import { lockAccount, writeCredit } from './sql-ledger.ts';

const limitColumns = {
  requestsPerMinute: 'limit_requests_per_minute',
  creationsPerMinute: 'limit_creations_per_minute',
  concurrentSandboxes: 'limit_concurrent_sandboxes',
  maxTimeoutMinutes: 'limit_max_timeout_minutes',
  apiKeys: 'limit_api_keys',
  storedOutputMb: 'limit_stored_output_mb',
  snapshots: 'limit_snapshots',
  snapshotStorageMb: 'limit_snapshot_storage_mb',
} as const satisfies Record<keyof AccountLimits, keyof AccountsTable>;

/** The columns of an AccountRecord. */
export const accountColumns = [
  'accounts.id',
  'accounts.email',
  'accounts.suspended',
  'accounts.created_at_ms',
  'accounts.limit_requests_per_minute',
  'accounts.limit_creations_per_minute',
  'accounts.limit_concurrent_sandboxes',
  'accounts.limit_max_timeout_minutes',
  'accounts.limit_api_keys',
  'accounts.limit_stored_output_mb',
  'accounts.limit_snapshots',
  'accounts.limit_snapshot_storage_mb',
] as const;

/** Accounts and their keys in SQL. */
export class SqlAccounts implements AccountStore {
  readonly #database: Database;
  readonly #byKeyHash;

  constructor(database: Database) {
    this.#database = database;
    this.#byKeyHash = database.prepare('accounts.findByKeyHash', (db, hash: string) =>
      db
        .selectFrom('api_keys')
        .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
        .select(accountColumns)
        .select(['api_keys.id as key_id', 'api_keys.revoked_at_ms'])
        .where('api_keys.hash', '=', hash),
    );
  }

  createFirst(account: NewAccount): Promise<boolean> {
    const createIfNone = async (transaction: Transaction<Schema>) => {
      const other = await transaction.selectFrom('accounts').select('id').limit(1).executeTakeFirst();
      return other === undefined && (await createAccount(transaction, account));
    };
    // Serializable: if two services see no account at the same time, only one of them creates it.
    return this.#database.transact('accounts.createFirst', createIfNone, 'serializable');
  }

  create(account: NewAccount): Promise<boolean> {
    return this.#database.transact('accounts.create', (transaction) => createAccount(transaction, account));
  }

  async findByKeyHash(hash: string): Promise<KeyOwner | undefined> {
    const [row] = await this.#byKeyHash(hash);
    return row && { account: accountOf(row), keyId: row.key_id, revokedAtMs: row.revoked_at_ms };
  }

  async findByEmail(email: string): Promise<AccountRecord | undefined> {
    const row = await this.#database.run('accounts.findByEmail', (db) =>
      db.selectFrom('accounts').select(accountColumns).where('email_key', '=', emailKey(email)).executeTakeFirst(),
    );
    return row && accountOf(row);
  }

  async list(): Promise<readonly AccountRecord[]> {
    const rows = await this.#database.run('accounts.list', (db) =>
      db.selectFrom('accounts').select(accountColumns).orderBy('created_at_ms').orderBy('id').execute(),
    );
    return rows.map(accountOf);
  }

  async setSuspended(id: string, suspended: boolean): Promise<void> {
    const columns = { suspended: suspended ? 1 : 0 };
    await this.#database.run('accounts.setSuspended', (db) =>
      db.updateTable('accounts').set(columns).where('id', '=', id).execute(),
    );
  }

  async setLimits(id: string, limits: { readonly [Name in keyof AccountLimits]?: number | null }): Promise<void> {
    const entries = Object.entries(limits).filter(([, limit]) => limit !== undefined);
    if (entries.length === 0) return;
    const columns = Object.fromEntries(
      entries.map(([name, limit]) => [limitColumns[name as keyof AccountLimits], limit]),
    );
    await this.#database.run('accounts.setLimits', (db) =>
      db.updateTable('accounts').set(columns).where('id', '=', id).execute(),
    );
  }

  use(accountId: string): Promise<AccountUse> {
    const count = sql<number>`cast(count(*) as bigint)`;
    return this.#database.run('accounts.use', (db) =>
      db
        .selectFrom('accounts')
        .select((account) => [
          'stored_output_bytes as storedOutputBytes',
          account
            .selectFrom('sandboxes')
            .select(count.as('count'))
            .where('account_id', '=', accountId)
            .where('status', 'in', ['provisioning', 'running'])
            .$asScalar()
            .$notNull()
            .as('openSandboxes'),
          account
            .selectFrom('snapshots')
            .select(count.as('count'))
            .where('account_id', '=', accountId)
            .$asScalar()
            .$notNull()
            .as('snapshots'),
          account
            .selectFrom('snapshots')
            .select(sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'))
            .where('account_id', '=', accountId)
            .$asScalar()
            .$notNull()
            .as('snapshotBytes'),
          account
            .selectFrom('api_keys')
            .select(count.as('count'))
            .where('account_id', '=', accountId)
            .where('revoked_at_ms', 'is', null)
            .$asScalar()
            .$notNull()
            .as('activeKeys'),
        ])
        .where('accounts.id', '=', accountId)
        .executeTakeFirstOrThrow(),
    );
  }

  addKey(accountId: string, key: NewApiKey, createdAtMs: number, maxActive: number): Promise<boolean> {
    return this.#database.transact('accounts.addKey', async (transaction) => {
      await lockAccount(transaction, accountId);
      const keys = transaction.selectFrom('api_keys').select('id').where('account_id', '=', accountId);
      const active = await keys.where('revoked_at_ms', 'is', null).execute();
      if (active.length >= maxActive) return false;
      await insertKey(transaction, accountId, key, createdAtMs);
      return true;
    });
  }

  async listKeys(accountId: string): Promise<readonly ApiKeyRecord[]> {
    const rows = await this.#database.run('accounts.listKeys', (db) =>
      db
        .selectFrom('api_keys')
        .where('account_id', '=', accountId)
        .select(['id', 'prefix', 'name', 'created_at_ms', 'last_used_at_ms', 'revoked_at_ms'])
        .orderBy('created_at_ms')
        .orderBy('id')
        .execute(),
    );
    return rows.map((row) => ({
      id: row.id,
      prefix: row.prefix,
      name: row.name,
      createdAtMs: row.created_at_ms,
      lastUsedAtMs: row.last_used_at_ms,
      revokedAtMs: row.revoked_at_ms,
    }));
  }

  async revokeKey(accountId: string, keyId: string, revokedAtMs: number): Promise<boolean> {
    const revoked = await this.#database.run('accounts.revokeKey', (db) =>
      db
        .updateTable('api_keys')
        .set({ revoked_at_ms: revokedAtMs })
        .where('id', '=', keyId)
        .where('account_id', '=', accountId)
        .where('revoked_at_ms', 'is', null)
        .returning('id')
        .executeTakeFirst(),
    );
    return revoked !== undefined;
  }

  async noteKeyUses(keyIds: readonly string[], usedAtMs: number): Promise<void> {
    if (keyIds.length === 0) return;
    await this.#database.run('accounts.noteKeyUses', (db) =>
      db.updateTable('api_keys').set({ last_used_at_ms: usedAtMs }).where('id', 'in', keyIds).execute(),
    );
  }
}

/** What makes an e-mail address unique. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}

/** Writes an account with its key, if any, and its opening credit; false if its e-mail address is taken. */
async function createAccount(transaction: Transaction<Schema>, account: NewAccount): Promise<boolean> {
  const { id, email, openingCreditMicroUsd: amountMicroUsd, createdAtMs } = account;
  const inserted = await transaction
    .insertInto('accounts')
    .values({ id, email, email_key: emailKey(email), suspended: 0, created_at_ms: createdAtMs })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted === undefined) return false;
  if (account.key !== null) await insertKey(transaction, id, account.key, createdAtMs);
  const opening = { id: `opening:${id}`, accountId: id, amountMicroUsd, createdAtMs, note: 'opening credit' };
  if (amountMicroUsd !== 0) await writeCredit(transaction, opening);
  return true;
}

async function insertKey(
  transaction: Transaction<Schema>,
  accountId: string,
  key: NewApiKey,
  createdAtMs: number,
): Promise<void> {
  const times = { created_at_ms: createdAtMs, last_used_at_ms: null, revoked_at_ms: null };
  const row = { ...key, name: key.name ?? null, account_id: accountId, ...times };
  await transaction.insertInto('api_keys').values(row).execute();
}

export type AccountRow = Omit<Selectable<AccountsTable>, 'email_key' | 'balance_micro_usd' | 'stored_output_bytes'>;

/** The account in a row with the `accountColumns`. */
export function accountOf(row: AccountRow): AccountRecord {
  const limits: { -readonly [Name in keyof AccountLimits]?: number } = {};
  for (const name of accountLimitNames) {
    const limit = row[limitColumns[name]];
    if (limit !== null) limits[name] = limit;
  }
  return { id: row.id, email: row.email, suspended: row.suspended !== 0, limits, createdAtMs: row.created_at_ms };
}
