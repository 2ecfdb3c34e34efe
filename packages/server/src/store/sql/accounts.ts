import { type Kysely, sql } from 'kysely';
import type { AccountStore, KeyOwner, NewAccount } from '../../core/ports/store.ts';
import type { Schema } from '../schema.ts';

/** Accounts and their keys in SQL. */
export class SqlAccounts implements AccountStore {
  readonly #db: Kysely<Schema>;

  constructor(db: Kysely<Schema>) {
    this.#db = db;
  }

  createFirst(account: NewAccount): Promise<boolean> {
    return this.#db.transaction().execute(async (db) => {
      const row = sql`select ${account.id}, ${account.email}, 0,
        cast(${account.openingCreditMicroUsd} as bigint), cast(${account.createdAtMs} as bigint)
        where not exists (select 1 from accounts)`;
      const inserted = await sql`insert into accounts
        (id, email, suspended, opening_credit_micro_usd, created_at_ms) ${row} on conflict do nothing returning id`.execute(
        db,
      );
      if (inserted.rows.length === 0) return false;
      const key = { ...account.key, account_id: account.id, created_at_ms: account.createdAtMs, revoked_at_ms: null };
      await db.insertInto('api_keys').values(key).execute();
      return true;
    });
  }

  async findByKeyHash(hash: string): Promise<KeyOwner | undefined> {
    const row = await this.#db
      .selectFrom('api_keys')
      .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
      .select(['accounts.id', 'accounts.email', 'accounts.suspended', 'accounts.created_at_ms'])
      .select(['api_keys.id as key_id', 'api_keys.revoked_at_ms'])
      .where('api_keys.hash', '=', hash)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    return {
      account: { id: row.id, email: row.email, suspended: row.suspended !== 0, createdAtMs: row.created_at_ms },
      keyId: row.key_id,
      revokedAtMs: row.revoked_at_ms,
    };
  }
}
