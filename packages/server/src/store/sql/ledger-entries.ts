import type { Transaction } from 'kysely';
import type { NewCredit } from '../../core/ports/store/ledger-store.ts';
import type { Charge } from '../../core/ports/store/sandbox-store.ts';
import type { LedgerEntriesTable, Schema } from '../schema.ts';

/** Adds credit to an account's ledger. */
export function writeCredit(transaction: Transaction<Schema>, credit: NewCredit): Promise<void> {
  return writeEntry(transaction, {
    id: credit.id,
    account_id: credit.accountId,
    kind: 'credit',
    amount_micro_usd: credit.amountMicroUsd,
    sandbox_id: null,
    runtime_ms: null,
    note: credit.note,
    created_at_ms: credit.createdAtMs,
  });
}

/** Charges an account for a sandbox, unless it was charged for that one before. */
export function writeCharge(
  transaction: Transaction<Schema>,
  sandbox: { readonly id: string; readonly accountId: string },
  charge: Charge,
): Promise<void> {
  return writeEntry(transaction, {
    id: `usage:${sandbox.id}`,
    account_id: sandbox.accountId,
    kind: 'usage',
    amount_micro_usd: -charge.amountMicroUsd,
    sandbox_id: sandbox.id,
    runtime_ms: charge.runtimeMs,
    note: '',
    created_at_ms: charge.atMs,
  });
}

/** The only writer of balances: an entry and its amount in the balance, together, unless the entry is there already. */
async function writeEntry(transaction: Transaction<Schema>, entry: LedgerEntriesTable): Promise<void> {
  const inserted = await transaction
    .insertInto('ledger_entries')
    .values(entry)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted === undefined) return;
  await transaction
    .updateTable('accounts')
    .set((row) => ({ balance_micro_usd: row('balance_micro_usd', '+', entry.amount_micro_usd) }))
    .where('id', '=', entry.account_id)
    .execute();
}
