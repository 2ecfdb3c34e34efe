import { sql, type Transaction } from 'kysely';
import type { AdmissionFacts, InsertOutcome, NewSandbox, SandboxRecord } from '../../core/ports/store/sandbox-store.ts';
import type { Schema } from '../schema.ts';
import { lockAccount } from './lock-account.ts';
import { runningOf } from './running.ts';
import { sandboxOf } from './sandbox-row.ts';

/** Inserts a sandbox while no other insert of its account can come in between. */
export async function insertSandbox<Refusal>(
  transaction: Transaction<Schema>,
  sandbox: NewSandbox,
  admit: (facts: AdmissionFacts) => Refusal | undefined,
): Promise<InsertOutcome<Refusal>> {
  const settledMicroUsd = await lockAccount(transaction, sandbox.accountId);
  const earlier = await findByIdempotencyKey(transaction, sandbox);
  if (earlier !== undefined) return { kind: 'replayed', sandbox: earlier };
  const open = await transaction
    .selectFrom('sandboxes')
    .select(['status', 'ready_at_ms', 'expires_at_ms', 'price_micro_usd_per_hour'])
    .where('account_id', '=', sandbox.accountId)
    .where('status', 'in', ['provisioning', 'running'])
    .execute();
  const running = runningOf(open.filter(({ status }) => status === 'running'));
  const refusal = admit({ settledMicroUsd, running, openSandboxes: open.length });
  if (refusal !== undefined) return { kind: 'refused', refusal };
  return { kind: 'inserted', sandbox: await insertRow(transaction, sandbox) };
}

async function findByIdempotencyKey(
  transaction: Transaction<Schema>,
  { accountId, idempotencyKey }: NewSandbox,
): Promise<SandboxRecord | undefined> {
  if (idempotencyKey === null) return undefined;
  const query = transaction.selectFrom('sandboxes').selectAll().where('account_id', '=', accountId);
  const row = await query.where('idempotency_key', '=', idempotencyKey).executeTakeFirst();
  return row && sandboxOf(row);
}

/** Takes the first creation time after the account's newest. */
async function insertRow(transaction: Transaction<Schema>, sandbox: NewSandbox): Promise<SandboxRecord> {
  const newest = sql`(select max(created_at_ms) from sandboxes where account_id = ${sandbox.accountId})`;
  const wanted = sql`cast(${sandbox.createdAtMs} as bigint)`;
  const row = await transaction
    .insertInto('sandboxes')
    .values({
      id: sandbox.id,
      account_id: sandbox.accountId,
      name: sandbox.name,
      size: sandbox.size,
      status: 'provisioning',
      status_reason: null,
      timeout_minutes: sandbox.timeoutMinutes,
      idempotency_key: sandbox.idempotencyKey,
      price_micro_usd_per_hour: sandbox.priceMicroUsdPerHour,
      machine_id: null,
      created_at_ms: sql<number>`case when ${newest} >= ${wanted} then ${newest} + 1 else ${wanted} end`,
      ready_at_ms: null,
      expires_at_ms: null,
      deleted_at_ms: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return sandboxOf(row);
}
