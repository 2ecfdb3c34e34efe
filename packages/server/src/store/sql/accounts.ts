import type { AccountLimits } from '@mayfly/contract';
import type {
  AccountRecord,
  AccountStore,
  ApiKeyRecord,
  KeyOwner,
  NewAccount,
  NewApiKey,
} from '../../core/ports/store/account-store.ts';
import { accountColumns, accountOf, limitColumns } from './account-row.ts';
import { createAccount, emailKey, insertKey } from './create-account.ts';
import type { Database } from './database.ts';
import { lockAccount } from './lock-account.ts';

/** Accounts and their keys in SQL. */
export class SqlAccounts implements AccountStore {
  readonly #database: Database;
  readonly #byKeyHash;

  constructor(database: Database) {
    this.#database = database;
    this.#byKeyHash = database.prepare((db, hash: string) =>
      db
        .selectFrom('api_keys')
        .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
        .select(accountColumns)
        .select(['api_keys.id as key_id', 'api_keys.revoked_at_ms'])
        .where('api_keys.hash', '=', hash),
    );
  }

  createFirst(account: NewAccount): Promise<boolean> {
    // Serializable: of two at once that both see no account only one is kept.
    return this.#database.transact(async (transaction) => {
      const other = await transaction.selectFrom('accounts').select('id').limit(1).executeTakeFirst();
      return other === undefined && (await createAccount(transaction, account));
    }, 'serializable');
  }

  create(account: NewAccount): Promise<boolean> {
    return this.#database.transact((transaction) => createAccount(transaction, account));
  }

  async findByKeyHash(hash: string): Promise<KeyOwner | undefined> {
    const [row] = await this.#byKeyHash(hash);
    return row && { account: accountOf(row), keyId: row.key_id, revokedAtMs: row.revoked_at_ms };
  }

  async findByEmail(email: string): Promise<AccountRecord | undefined> {
    const query = this.#database.db.selectFrom('accounts').select(accountColumns);
    const row = await query.where('email_key', '=', emailKey(email)).executeTakeFirst();
    return row && accountOf(row);
  }

  async list(): Promise<readonly AccountRecord[]> {
    const query = this.#database.db.selectFrom('accounts').select(accountColumns);
    return (await query.orderBy('created_at_ms').orderBy('id').execute()).map(accountOf);
  }

  async setSuspended(id: string, suspended: boolean): Promise<void> {
    const columns = { suspended: suspended ? 1 : 0 };
    await this.#database.db.updateTable('accounts').set(columns).where('id', '=', id).execute();
  }

  async setLimits(id: string, limits: { readonly [Name in keyof AccountLimits]?: number | null }): Promise<void> {
    const entries = Object.entries(limits).filter(([, limit]) => limit !== undefined);
    if (entries.length === 0) return;
    const columns = Object.fromEntries(
      entries.map(([name, limit]) => [limitColumns[name as keyof AccountLimits], limit]),
    );
    await this.#database.db.updateTable('accounts').set(columns).where('id', '=', id).execute();
  }

  addKey(accountId: string, key: NewApiKey, createdAtMs: number, maxActive: number): Promise<boolean> {
    return this.#database.transact(async (transaction) => {
      await lockAccount(transaction, accountId);
      const keys = transaction.selectFrom('api_keys').select('id').where('account_id', '=', accountId);
      const active = await keys.where('revoked_at_ms', 'is', null).execute();
      if (active.length >= maxActive) return false;
      await insertKey(transaction, accountId, key, createdAtMs);
      return true;
    });
  }

  async listKeys(accountId: string): Promise<readonly ApiKeyRecord[]> {
    const query = this.#database.db.selectFrom('api_keys').where('account_id', '=', accountId);
    const columns = ['id', 'prefix', 'created_at_ms', 'revoked_at_ms'] as const;
    const rows = await query.select(columns).orderBy('created_at_ms').orderBy('id').execute();
    return rows.map(({ id, prefix, created_at_ms: createdAtMs, revoked_at_ms: revokedAtMs }) => ({
      id,
      prefix,
      createdAtMs,
      revokedAtMs,
    }));
  }

  async revokeKey(accountId: string, keyId: string, revokedAtMs: number): Promise<boolean> {
    const query = this.#database.db.updateTable('api_keys').set({ revoked_at_ms: revokedAtMs });
    const active = query.where('id', '=', keyId).where('account_id', '=', accountId).where('revoked_at_ms', 'is', null);
    return (await active.returning('id').executeTakeFirst()) !== undefined;
  }
}
