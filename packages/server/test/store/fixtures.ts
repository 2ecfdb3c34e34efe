import { expect } from 'vitest';
import type { NewAccount, NewApiKey } from '../../src/core/ports/store/account-store.ts';
import type {
  InsertOutcome,
  NewSandbox,
  SandboxChange,
  SandboxRecord,
} from '../../src/core/ports/store/sandbox-store.ts';
import type { NewSnapshot } from '../../src/core/ports/store/snapshot-store.ts';
import type { Store } from '../../src/core/ports/store/store.ts';

/** Returns the store of the current test. */
export type OpenedStore = () => Store;

type NewAccountWithKey = NewAccount & { readonly key: NewApiKey };

/** The account that exists in every store of the suite. */
export const account = newAccount('1', { email: 'A@localhost', openingCreditMicroUsd: 100_000_000 });

export function newAccount(name: string, more: Partial<NewAccountWithKey> = {}): NewAccountWithKey {
  return {
    id: `acct_${name}`,
    email: `${name}@localhost`,
    openingCreditMicroUsd: 0,
    createdAtMs: 1,
    key: { id: `key_${name}`, hash: `hash_${name}`, prefix: 'mf_' },
    ...more,
  };
}

export function newSandbox(id: string, more: Partial<NewSandbox> = {}): NewSandbox {
  return {
    id,
    accountId: account.id,
    name: null,
    size: 'small',
    timeoutMinutes: 15,
    idempotencyKey: null,
    priceMicroUsdPerHour: 50_000,
    createdAtMs: 1_790_000_000_000,
    ...more,
  };
}

export function newSnapshot(id: string, sandboxId: string, more: Partial<NewSnapshot> = {}): NewSnapshot {
  return {
    id,
    accountId: account.id,
    sandboxId,
    name: null,
    alias: null,
    size: 'small',
    idempotencyKey: null,
    priceMicroUsdPerGbMonth: 0,
    createdAtMs: 1_790_000_000_000,
    ...more,
  };
}

export const admitAll = (): undefined => undefined;

/** Inserts a sandbox that is admitted. */
export async function insert(store: Store, id: string, more: Partial<NewSandbox> = {}): Promise<SandboxRecord> {
  return sandboxIn(await store.sandboxes.insert(newSandbox(id, more), admitAll));
}

/** The sandbox of an insert's outcome. */
export function sandboxIn(outcome: InsertOutcome<unknown> | undefined): SandboxRecord {
  if (outcome === undefined || outcome.kind === 'refused') throw new Error('the insert returned no sandbox');
  return outcome.sandbox;
}

/** Inserts a sandbox and changes it to running. */
export async function insertRunning(store: Store, id: string, more: Partial<NewSandbox> = {}): Promise<SandboxRecord> {
  const inserted = await insert(store, id, more);
  return changed(store, inserted, { status: 'running', readyAtMs: inserted.createdAtMs + 1, expiresAtMs: 2e12 });
}

/** Changes a sandbox and checks that the change was written. */
export async function changed(store: Store, sandbox: SandboxRecord, change: SandboxChange): Promise<SandboxRecord> {
  const written = await store.sandboxes.change(sandbox, change);
  expect(written).toBeDefined();
  return written ?? sandbox;
}
