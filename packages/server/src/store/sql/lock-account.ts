import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';

/** Keeps every other transaction that locks the account out until this one ends; gives the account's settled balance. */
export async function lockAccount(transaction: Transaction<Schema>, id: string): Promise<number> {
  // Writing the row as it is locks it in every engine.
  const query = transaction.updateTable('accounts').set((row) => ({ balance_micro_usd: row.ref('balance_micro_usd') }));
  const { balance_micro_usd: balanceMicroUsd } = await query
    .where('id', '=', id)
    .returning('balance_micro_usd')
    .executeTakeFirstOrThrow();
  return balanceMicroUsd;
}
