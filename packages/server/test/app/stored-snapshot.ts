import type { Core } from '../../src/app/assemble-core.ts';
import type { StubDriver } from '../core/stub-driver.ts';

export interface StoredSnapshotOptions {
  readonly accountId?: string;
  readonly alias?: string;
  readonly status?: 'creating' | 'ready' | 'failed';
}

/** Stores a snapshot of a sandbox, record and files, without the use case that takes one. Returns its id. */
export async function storeSnapshot(
  { core, driver }: { readonly core: Core; readonly driver: StubDriver },
  sandboxId: string,
  { accountId, alias, status = 'ready' }: StoredSnapshotOptions = {},
): Promise<string> {
  const { store, clock } = core;
  const sandbox = await store.sandboxes.read(sandboxId);
  if (sandbox === undefined) throw new Error(`there is no sandbox ${sandboxId}`);
  const id = core.ids.next('snap');
  await store.snapshots.insert(
    {
      id,
      accountId: accountId ?? sandbox.accountId,
      sandboxId,
      name: null,
      alias: alias ?? null,
      size: sandbox.size,
      idempotencyKey: null,
      priceMicroUsdPerGbMonth: 0,
      createdAtMs: clock.nowMs(),
    },
    () => undefined,
  );
  if (status === 'creating') return id;
  driver.stored.set(id, { id, size: sandbox.size, files: [] });
  await store.snapshots.complete(id, 0, clock.nowMs());
  if (status === 'failed') await store.snapshots.fail(id, clock.nowMs());
  return id;
}
