import type { Transaction } from 'kysely';
import type { NewAccount, NewApiKey } from '../../core/ports/store/account-store.ts';
import type { Schema } from '../schema.ts';
import { writeCredit } from './ledger-entries.ts';

/** Writes an account with its key and its opening credit; false if its e-mail is taken. */
export async function createAccount(transaction: Transaction<Schema>, account: NewAccount): Promise<boolean> {
  const { id, email, openingCreditMicroUsd: amountMicroUsd, createdAtMs } = account;
  const inserted = await transaction
    .insertInto('accounts')
    .values({ id, email, email_key: emailKey(email), suspended: 0, created_at_ms: createdAtMs })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted === undefined) return false;
  await insertKey(transaction, id, account.key, createdAtMs);
  const opening = { id: `opening:${id}`, accountId: id, amountMicroUsd, createdAtMs, note: 'opening credit' };
  if (amountMicroUsd !== 0) await writeCredit(transaction, opening);
  return true;
}

/** What an e-mail is unique by. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}

export async function insertKey(
  transaction: Transaction<Schema>,
  accountId: string,
  key: NewApiKey,
  createdAtMs: number,
): Promise<void> {
  const { id, hash, prefix } = key;
  const row = { id, hash, prefix, account_id: accountId, created_at_ms: createdAtMs, revoked_at_ms: null };
  await transaction.insertInto('api_keys').values(row).execute();
}
