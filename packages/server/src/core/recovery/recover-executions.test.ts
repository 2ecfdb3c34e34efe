import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { resultOf } from '../../../test/core/stub-guest.ts';
import { GuestUnreachable } from '../ports/guest-agent.ts';
import { recoverExecutions } from './recover-executions.ts';

let service: Awaited<ReturnType<typeof stubService>>;
let id: string;
beforeEach(async () => {
  service = await stubService();
  id = String((await service.call('POST', '/v1/sandboxes')).body.id);
});
afterEach(() => service[Symbol.asyncDispose]());

const exec = () => service.call('POST', `/v1/sandboxes/${id}/exec`, { command: 'ls' });
const executions = async () => (await service.call('GET', `/v1/sandboxes/${id}/executions`)).body.data;
const down = () => Promise.reject(new Error('the database is down'));
const recover = async () => {
  await recoverExecutions(service.core);
  await service.core.background.idle();
};

test('a command that ended while the database was down is completed once the database is back', async () => {
  vi.spyOn(service.store.executions, 'finish').mockImplementationOnce(down);
  expect((await exec()).status).toBe(500);
  expect(await executions()).toMatchObject([{ status: 'running' }]);
  service.connector.resumed = async () => resultOf({ exitCode: 7 });
  await recover();
  expect(await executions()).toMatchObject([{ status: 'completed', exit_code: 7 }]);
});

test('a result that cannot be stored yet is collected again later', async () => {
  vi.spyOn(service.store.executions, 'finish').mockImplementationOnce(down).mockImplementationOnce(down);
  await exec();
  service.connector.resumed = async () => resultOf();
  await recover();
  expect(await executions()).toMatchObject([{ status: 'running' }]);
  await recover();
  expect(await executions()).toMatchObject([{ status: 'completed' }]);
});

test('a command that was stored but not confirmed ends failed: it never ran', async () => {
  const { executions: kept } = service.store;
  const insert = kept.insert.bind(kept);
  vi.spyOn(kept, 'insert').mockImplementationOnce(async (execution) => {
    await insert(execution);
    await down();
  });
  expect((await exec()).status).toBe(500);
  await recover();
  expect(await executions()).toMatchObject([{ status: 'failed' }]);
});

test('a command in flight is left alone', async () => {
  const ended = Promise.withResolvers<void>();
  service.connector.command = async () => {
    await ended.promise;
    return resultOf();
  };
  const answer = exec();
  await vi.waitFor(async () => expect(await executions()).toHaveLength(1), { timeout: 30_000 });
  expect(await recoverExecutions(service.core)).toBe(0);
  ended.resolve();
  expect((await answer).status).toBe(200);
});

test('a machine that refuses connections before its exit is reported does not delay the report', async () => {
  service.connector.command = async () => {
    service.connector.attachError = new GuestUnreachable('the machine is gone');
    service.connector.disconnect();
    void wait(50).then(() => service.driver.newest.die('killed'));
    return await new Promise<never>(() => {});
  };
  const answer = await exec();
  expect([answer.status, answer.body.error?.message]).toEqual([502, expect.stringContaining('killed')]);
});
