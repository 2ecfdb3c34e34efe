import type { SandboxStore } from '../ports/store/sandbox-store.ts';
import type { SnapshotStore, StorageCharge } from '../ports/store/snapshot-store.ts';
import type { Store } from '../ports/store/store.ts';
import type { AccountChanges } from './account-changes.ts';

/** The store, with its sandboxes and snapshots telling what they wrote once it is written. */
export function observedStore(store: Store, changes: AccountChanges): Pick<Store, 'sandboxes' | 'snapshots'> {
  return {
    sandboxes: observedSandboxes(store.sandboxes, changes),
    snapshots: observedSnapshots(store.snapshots, changes),
  };
}

function observedSandboxes(sandboxes: SandboxStore, changes: AccountChanges): SandboxStore {
  return {
    insert: async (sandbox, admit) => {
      const outcome = await sandboxes.insert(sandbox, admit);
      if (outcome.kind === 'inserted') changes.sandboxChanged(outcome.sandbox);
      return outcome;
    },
    change: async (guard, change) => {
      const written = await sandboxes.change(guard, change);
      if (written !== undefined) changes.sandboxChanged(written);
      return written;
    },
    find: (accountId, id) => sandboxes.find(accountId, id),
    list: (accountId, page) => sandboxes.list(accountId, page),
    read: (id) => sandboxes.read(id),
    withStatus: (statuses) => sandboxes.withStatus(statuses),
    countByStatus: () => sandboxes.countByStatus(),
    expired: (nowMs) => sandboxes.expired(nowMs),
  };
}

function observedSnapshots(snapshots: SnapshotStore, changes: AccountChanges): SnapshotStore {
  const observed = async (write: Promise<StorageCharge>): Promise<StorageCharge> => {
    const charge = await write;
    if (charge.changed) changes.snapshotsChanged(charge.accountId);
    return charge;
  };
  return {
    insert: async (snapshot, admit) => {
      const outcome = await snapshots.insert(snapshot, admit);
      if (outcome.kind === 'inserted') changes.snapshotsChanged(outcome.snapshot.accountId);
      return outcome;
    },
    complete: async (id, bytes, nowMs) => {
      const ready = await snapshots.complete(id, bytes, nowMs);
      if (ready !== undefined) changes.snapshotsChanged(ready.accountId);
      return ready;
    },
    fail: (id, nowMs) => observed(snapshots.fail(id, nowMs)),
    remove: (id, nowMs) => observed(snapshots.remove(id, nowMs)),
    resize: (id, bytes, nowMs) => observed(snapshots.resize(id, bytes, nowMs)),
    find: (accountId, id) => snapshots.find(accountId, id),
    findByAlias: (accountId, alias) => snapshots.findByAlias(accountId, alias),
    list: (accountId, page) => snapshots.list(accountId, page),
    all: () => snapshots.all(),
    countByStatus: () => snapshots.countByStatus(),
  };
}
