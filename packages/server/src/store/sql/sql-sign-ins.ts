import type { Kysely, Selectable, Transaction } from 'kysely';
import type { AccountRecord } from '../../core/ports/store/account-store.ts';
import type {
  Credentials,
  NewSession,
  SessionOwner,
  SessionRecord,
  SignInLink,
  SignInProof,
  SignInStore,
  TwoFactorRecord,
} from '../../core/ports/store/sign-in-store.ts';
import type { Schema, SessionsTable } from '../schema.ts';
import type { Database } from './database.ts';
import { accountColumns, accountOf } from './sql-accounts.ts';
import { lockAccount } from './sql-ledger.ts';

const sessionColumns = [
  'sessions.id as session_id',
  'sessions.account_id',
  'sessions.created_at_ms as session_created_at_ms',
  'sessions.last_used_at_ms',
  'sessions.may_set_password_until_ms',
  'sessions.source_address',
  'sessions.user_agent',
] as const;

/** More sessions than an account can have: statements that skip rows need a bound. */
const allRows = 1_000_000;

/** Sign-ins and sessions in SQL. Changes that depend on a password or a secret are made under the account's lock. */
export class SqlSignIns implements SignInStore {
  readonly #database: Database;
  readonly #findSession;

  constructor(database: Database) {
    this.#database = database;
    this.#findSession = database.prepare('signIns.findSession', (db, hash: string) =>
      db
        .selectFrom('sessions')
        .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
        .leftJoin('sign_ins', 'sign_ins.account_id', 'sessions.account_id')
        .select(accountColumns)
        .select(sessionColumns)
        .select(['sign_ins.password_hash', 'sign_ins.totp_secret'])
        .where('sessions.hash', '=', hash),
    );
  }

  credentials(accountId: string): Promise<Credentials> {
    return this.#database.run('signIns.credentials', (db) => readCredentials(db, accountId));
  }

  setPassword(session: Pick<SessionRecord, 'id' | 'accountId'>, passwordHash: string): Promise<boolean> {
    const { id, accountId } = session;
    return this.#database.transact('signIns.setPassword', async (transaction) => {
      await lockAccount(transaction, accountId);
      const kept = await transaction
        .updateTable('sessions')
        .set({ may_set_password_until_ms: null })
        .where('id', '=', id)
        .where('account_id', '=', accountId)
        .returning('id')
        .executeTakeFirst();
      if (kept === undefined) return false;
      await writePassword(transaction, accountId, passwordHash);
      await removeOtherSessions(transaction, accountId, id);
      return true;
    });
  }

  setFirstPassword(accountId: string, passwordHash: string): Promise<boolean> {
    return this.#database.transact('signIns.setFirstPassword', async (transaction) => {
      await lockAccount(transaction, accountId);
      if ((await readCredentials(transaction, accountId)).passwordHash !== null) return false;
      await writePassword(transaction, accountId, passwordHash);
      return true;
    });
  }

  async setPendingSecret(accountId: string, secret: string): Promise<boolean> {
    const row = { account_id: accountId, totp_pending_secret: secret };
    const written = await this.#database.run('signIns.setPendingSecret', (db) =>
      db
        .insertInto('sign_ins')
        .values(row)
        .onConflict((conflict) =>
          conflict.column('account_id').doUpdateSet(row).where('sign_ins.totp_secret', 'is', null),
        )
        .returning('account_id')
        .executeTakeFirst(),
    );
    return written !== undefined;
  }

  enableTwoFactor(accountId: string, confirmed: TwoFactorRecord, recoveryHashes: readonly string[]): Promise<boolean> {
    const { secret, lastPeriod } = confirmed;
    return this.#database.transact('signIns.enableTwoFactor', async (transaction) => {
      const enabled = await transaction
        .updateTable('sign_ins')
        .set({ totp_secret: secret, totp_last_period: lastPeriod, totp_pending_secret: null })
        .where('account_id', '=', accountId)
        .where('totp_pending_secret', '=', secret)
        .where('totp_secret', 'is', null)
        .returning('account_id')
        .executeTakeFirst();
      if (enabled === undefined) return false;
      await transaction.deleteFrom('recovery_codes').where('account_id', '=', accountId).execute();
      const codes = recoveryHashes.map((hash) => ({ account_id: accountId, hash }));
      await transaction.insertInto('recovery_codes').values(codes).execute();
      return true;
    });
  }

  async usePeriod(accountId: string, { secret, lastPeriod }: TwoFactorRecord): Promise<boolean> {
    const used = await this.#database.run('signIns.usePeriod', (db) =>
      db
        .updateTable('sign_ins')
        .set({ totp_last_period: lastPeriod })
        .where('account_id', '=', accountId)
        .where('totp_secret', '=', secret)
        .where('totp_last_period', '<', lastPeriod)
        .returning('account_id')
        .executeTakeFirst(),
    );
    return used !== undefined;
  }

  async useRecoveryCode(accountId: string, hash: string): Promise<boolean> {
    const used = await this.#database.run('signIns.useRecoveryCode', (db) =>
      db
        .deleteFrom('recovery_codes')
        .where('account_id', '=', accountId)
        .where('hash', '=', hash)
        .returning('hash')
        .executeTakeFirst(),
    );
    return used !== undefined;
  }

  disableTwoFactor(accountId: string): Promise<void> {
    return this.#database.transact('signIns.disableTwoFactor', async (transaction) => {
      const none = { totp_secret: null, totp_last_period: null, totp_pending_secret: null };
      await transaction.updateTable('sign_ins').set(none).where('account_id', '=', accountId).execute();
      await transaction.deleteFrom('recovery_codes').where('account_id', '=', accountId).execute();
    });
  }

  reset(accountId: string): Promise<void> {
    return this.#database.transact('signIns.reset', async (transaction) => {
      await lockAccount(transaction, accountId);
      for (const table of ['sign_ins', 'recovery_codes', 'sign_in_links', 'sessions'] as const) {
        await transaction.deleteFrom(table).where('account_id', '=', accountId).execute();
      }
    });
  }

  async setLink(accountId: string, { hash, expiresAtMs }: SignInLink): Promise<void> {
    const row = { account_id: accountId, hash, expires_at_ms: expiresAtMs };
    await this.#database.run('signIns.setLink', (db) =>
      db
        .insertInto('sign_in_links')
        .values(row)
        .onConflict((conflict) => conflict.column('account_id').doUpdateSet(row))
        .execute(),
    );
  }

  async findLink(hash: string): Promise<{ readonly account: AccountRecord; readonly expiresAtMs: number } | undefined> {
    const row = await this.#database.run('signIns.findLink', (db) =>
      db
        .selectFrom('sign_in_links')
        .innerJoin('accounts', 'accounts.id', 'sign_in_links.account_id')
        .select(accountColumns)
        .select('sign_in_links.expires_at_ms')
        .where('sign_in_links.hash', '=', hash)
        .executeTakeFirst(),
    );
    return row && { account: accountOf(row), expiresAtMs: row.expires_at_ms };
  }

  addSession(session: NewSession, proof: SignInProof, maxSessions: number): Promise<boolean> {
    const { id, accountId } = session;
    return this.#database.transact('signIns.addSession', async (transaction) => {
      await lockAccount(transaction, accountId);
      if (!(await isStillValid(transaction, accountId, proof))) return false;
      await transaction.insertInto('sessions').values(rowOf(session)).execute();
      const kept = maxSessions - 1;
      const surplus = transaction
        .selectFrom('sessions')
        .select('id')
        .where('account_id', '=', accountId)
        .where('id', '!=', id)
        .orderBy('last_used_at_ms', 'desc')
        .orderBy('id')
        .limit(allRows)
        .offset(kept);
      await transaction.deleteFrom('sessions').where('id', 'in', surplus).execute();
      return true;
    });
  }

  async findSession(hash: string): Promise<SessionOwner | undefined> {
    const [row] = await this.#findSession(hash);
    if (row === undefined) return undefined;
    return {
      session: sessionOf(row),
      account: accountOf(row),
      hasPassword: row.password_hash !== null,
      hasTwoFactor: row.totp_secret !== null,
    };
  }

  async listSessions(accountId: string): Promise<readonly SessionRecord[]> {
    const rows = await this.#database.run('signIns.listSessions', (db) =>
      db
        .selectFrom('sessions')
        .select(sessionColumns)
        .where('account_id', '=', accountId)
        .orderBy('last_used_at_ms', 'desc')
        .orderBy('id')
        .execute(),
    );
    return rows.map(sessionOf);
  }

  async touchSession(id: string, usedAtMs: number): Promise<void> {
    await this.#database.run('signIns.touchSession', (db) =>
      db.updateTable('sessions').set({ last_used_at_ms: usedAtMs }).where('id', '=', id).execute(),
    );
  }

  async removeSession(accountId: string, id: string): Promise<boolean> {
    const removed = await this.#database.run('signIns.removeSession', (db) =>
      db
        .deleteFrom('sessions')
        .where('account_id', '=', accountId)
        .where('id', '=', id)
        .returning('id')
        .executeTakeFirst(),
    );
    return removed !== undefined;
  }

  removeOtherSessions(accountId: string, keptId: string): Promise<number> {
    return this.#database.run('signIns.removeOtherSessions', (db) => removeOtherSessions(db, accountId, keptId));
  }
}

async function readCredentials(db: Kysely<Schema>, accountId: string): Promise<Credentials> {
  const row = await db.selectFrom('sign_ins').selectAll().where('account_id', '=', accountId).executeTakeFirst();
  if (row === undefined) return { passwordHash: null, twoFactor: null, pendingSecret: null };
  const { totp_secret: secret, totp_last_period: lastPeriod } = row;
  return {
    passwordHash: row.password_hash,
    twoFactor: secret === null ? null : { secret, lastPeriod: lastPeriod ?? 0 },
    pendingSecret: row.totp_pending_secret,
  };
}

async function writePassword(transaction: Transaction<Schema>, accountId: string, passwordHash: string): Promise<void> {
  const row = { account_id: accountId, password_hash: passwordHash };
  await transaction
    .insertInto('sign_ins')
    .values(row)
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(row))
    .execute();
}

async function removeOtherSessions(db: Kysely<Schema>, accountId: string, keptId: string): Promise<number> {
  const removal = db.deleteFrom('sessions').where('account_id', '=', accountId).where('id', '!=', keptId);
  return Number((await removal.executeTakeFirstOrThrow()).numDeletedRows);
}

/** Whether a session may still begin with this proof. Uses a link up. */
async function isStillValid(transaction: Transaction<Schema>, accountId: string, proof: SignInProof): Promise<boolean> {
  if (proof.kind === 'link') {
    const used = transaction.deleteFrom('sign_in_links').where('hash', '=', proof.hash).returning('hash');
    return (await used.executeTakeFirst()) !== undefined;
  }
  const { passwordHash, twoFactor } = await readCredentials(transaction, accountId);
  return passwordHash === proof.passwordHash && (twoFactor?.secret ?? null) === proof.twoFactorSecret;
}

function rowOf(session: NewSession): SessionsTable {
  return {
    id: session.id,
    hash: session.hash,
    account_id: session.accountId,
    created_at_ms: session.createdAtMs,
    last_used_at_ms: session.lastUsedAtMs,
    may_set_password_until_ms: session.maySetPasswordUntilMs,
    source_address: session.sourceAddress,
    user_agent: session.userAgent,
  };
}

type SessionRow = Omit<Selectable<SessionsTable>, 'id' | 'hash' | 'created_at_ms'> & {
  readonly session_id: string;
  readonly session_created_at_ms: number;
};

function sessionOf(row: SessionRow): SessionRecord {
  return {
    id: row.session_id,
    accountId: row.account_id,
    createdAtMs: row.session_created_at_ms,
    lastUsedAtMs: row.last_used_at_ms,
    maySetPasswordUntilMs: row.may_set_password_until_ms,
    sourceAddress: row.source_address,
    userAgent: row.user_agent,
  };
}
