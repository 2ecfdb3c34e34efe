import { expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { KeyUses, writtenEveryMs } from './key-uses.ts';

async function serviceWithUses() {
  const service = await stubService();
  const written: string[][] = [];
  const accounts = {
    ...service.core.store.accounts,
    noteKeyUses: async (keyIds: readonly string[], atMs: number) => {
      written.push([...keyIds]);
      await service.store.accounts.noteKeyUses(keyIds, atMs);
    },
  };
  const { clock } = service;
  return { service, written, accounts, uses: new KeyUses({ accounts, clock, log: service.core.log }) };
}

test('the use of a key is written once a minute at most', async () => {
  const { service, written, uses } = await serviceWithUses();
  await using stopped = service;
  for (let count = 0; count < 3; count++) uses.note('key_test');
  await uses.flush();
  const firstMs = service.clock.nowMs();
  service.clock.advanceMs(writtenEveryMs - 1);
  uses.note('key_test');
  await uses.flush();
  const lastUsed = async () => (await stopped.store.accounts.listKeys('acct_test'))[0]?.lastUsedAtMs;
  expect(await lastUsed()).toBe(firstMs);
  service.clock.advanceMs(1);
  uses.note('key_test');
  uses.note('key_other');
  await uses.flush();
  expect(await lastUsed()).toBe(firstMs + writtenEveryMs);
  expect(written).toEqual([['key_test'], ['key_test', 'key_other']]);
});

test('a use that could not be written is written after the next one', async () => {
  const { service, accounts } = await serviceWithUses();
  await using stopped = service;
  const log = new RecordedLog();
  let fails = true;
  const noteKeyUses = (keyIds: readonly string[], atMs: number) =>
    fails ? Promise.reject(new Error('database is away')) : accounts.noteKeyUses(keyIds, atMs);
  const uses = new KeyUses({ accounts: { ...accounts, noteKeyUses }, clock: service.clock, log });
  uses.note('key_test');
  await uses.flush();
  expect(log.events).toEqual(['key_uses_write_failed']);
  fails = false;
  uses.note('key_test');
  await uses[Symbol.asyncDispose]();
  expect((await stopped.store.accounts.listKeys('acct_test'))[0]?.lastUsedAtMs).toBe(service.clock.nowMs());
});

test('calling the API with a key records its use, and a key that is revoked or unknown leaves no trace', async () => {
  await using service = await stubService();
  const keys = async () => {
    await service.core.keyUses.flush();
    return (await service.store.accounts.listKeys('acct_test')).map(({ id, lastUsedAtMs }) => [id, lastUsedAtMs]);
  };
  await service.call('GET', '/v1/account', undefined, { authorization: 'Bearer mf_unknown' });
  expect(await keys()).toEqual([['key_test', null]]);
  await service.call('GET', '/v1/account');
  const usedAtMs = service.clock.nowMs();
  expect(await keys()).toEqual([['key_test', usedAtMs]]);
  await service.core.store.accounts.revokeKey('acct_test', 'key_test', usedAtMs);
  service.clock.advanceMs(2 * writtenEveryMs);
  expect((await service.call('GET', '/v1/account')).status).toBe(401);
  expect(await keys()).toEqual([['key_test', usedAtMs]]);
});
