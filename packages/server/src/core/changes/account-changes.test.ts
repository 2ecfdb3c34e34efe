import { expect, test } from 'vitest';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { AccountChanges } from './account-changes.ts';

const record = (id: string, accountId = 'acct_a', status = 'running') => ({ id, accountId, status }) as SandboxRecord;

function reader(changes: AccountChanges, accountId = 'acct_a') {
  const controller = new AbortController();
  return { controller, read: changes.follow(accountId, controller.signal) };
}

test('a reader is told of the changes of its account alone, from the moment it asks', async () => {
  const changes = new AccountChanges();
  changes.sandboxChanged(record('sbx_before'));
  const { read } = reader(changes);
  changes.sandboxChanged(record('sbx_b', 'acct_b'));
  changes.snapshotsChanged('acct_b');
  changes.sandboxChanged(record('sbx_a'));
  expect((await read.next()).value).toEqual({ sandboxes: [record('sbx_a')], snapshots: false });
});

test('a slow reader is told of several changes together, and of each sandbox only how it is', async () => {
  const changes = new AccountChanges();
  const { read } = reader(changes);
  changes.sandboxChanged(record('sbx_a', 'acct_a', 'provisioning'));
  changes.sandboxChanged(record('sbx_b'));
  changes.sandboxChanged(record('sbx_a'));
  changes.snapshotsChanged('acct_a');
  expect((await read.next()).value).toEqual({ sandboxes: [record('sbx_a'), record('sbx_b')], snapshots: true });
  const next = read.next();
  changes.snapshotsChanged('acct_a');
  expect((await next).value).toEqual({ sandboxes: [], snapshots: true });
});

test('for a reader that does not read, no more than a bounded number of sandboxes is kept', async () => {
  const changes = new AccountChanges();
  const { read } = reader(changes);
  for (let index = 0; index < 100_000; index += 1) changes.sandboxChanged(record(`sbx_${index}`));
  expect((await read.next()).value).toEqual({ sandboxes: null, snapshots: false });
  changes.sandboxChanged(record('sbx_a'));
  expect((await read.next()).value).toEqual({ sandboxes: [record('sbx_a')], snapshots: false });
});

test('a reader that has gone is forgotten', async () => {
  const changes = new AccountChanges();
  const [first, second] = [reader(changes), reader(changes)];
  expect(changes.readers).toBe(2);
  const waiting = first.read.next();
  first.controller.abort();
  expect((await waiting).done).toBe(true);
  second.controller.abort();
  changes.sandboxChanged(record('sbx_a'));
  expect((await second.read.next()).done).toBe(true);
  expect(changes.readers).toBe(0);
  expect((await changes.follow('acct_a', AbortSignal.abort()).next()).done).toBe(true);
  expect(changes.readers).toBe(0);
});
