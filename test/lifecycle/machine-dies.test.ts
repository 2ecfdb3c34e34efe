import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditLedger } from '../support/chaos/audit-ledger.ts';
import { sqliteFile } from '../support/chaos/database.ts';
import { machinePids, signalProcess } from '../support/chaos/machine-pids.ts';
import { ServiceProcess } from '../support/chaos/service-process.ts';
import { call, createSandbox, type SandboxBody } from '../support/http.ts';

/** At a dollar per second what is billed shows at once. */
const settings = { MAYFLY_PRICE_SMALL: '3600', MAYFLY_BOOTSTRAP_CREDIT_USD: '1000000' };
let service: ServiceProcess;
beforeAll(async () => {
  service = await ServiceProcess.create(settings);
});
afterAll(() => service.remove());

const get = async <Body>(path: string): Promise<Body> => (await (await call(service, 'GET', path)).json()) as Body;
const spentUsd = async () => (await get<{ spent_usd: number }>('/usage')).spent_usd;
const database = () => sqliteFile(`${service.dataDir}/mayfly.db`);

const pidOf = async (sandboxId: string): Promise<number> => {
  const [row] = await database().rows(`select machine_id from sandboxes where id = '${sandboxId}'`);
  const pid = (await machinePids(service.dataDir)).get(String(row?.machine_id));
  if (pid === undefined) throw new Error(`${sandboxId} has no process`);
  return pid;
};

/** Ends the machine while a command runs in it, and holds what a user notices of it against what was promised. */
const endAndLook = async (what: string, signal: NodeJS.Signals): Promise<void> => {
  const spentBefore = await spentUsd();
  const { id } = await createSandbox(service);
  const waiting = call(service, 'POST', `/sandboxes/${id}/exec`, { command: 'sleep 60' });
  const running = async () => (await get<{ data: unknown[] }>(`/sandboxes/${id}/executions`)).data.length;
  await expect.poll(running).toBe(1);
  const pid = await pidOf(id);
  const endedAtMs = Date.now();
  expect(signalProcess(pid, signal)).toBe(true);

  const answer = await waiting;
  const answeredMs = Date.now() - endedAtMs;
  expect([answer.status, await answer.json()]).toMatchObject([502, { error: { type: 'execution_failed' } }]);
  const now = () => get<SandboxBody>(`/sandboxes/${id}`);
  await expect.poll(async () => (await now()).status, { interval: 20, timeout: 10_000 }).toBe('failed');
  const noticedMs = Date.now() - endedAtMs;
  console.log(`${what}: 502 after ${answeredMs} ms, failed after ${noticedMs} ms`);
  expect(answeredMs).toBeLessThan(5_000);
  expect(noticedMs).toBeLessThan(5_000);

  const sandbox = await now();
  expect(sandbox.status_reason).toMatch(/^machine_died: ./);
  const ranSeconds = (endedAtMs - Date.parse(sandbox.ready_at ?? '')) / 1_000;
  const billedUsd = (await spentUsd()) - spentBefore;
  expect(billedUsd).toBeGreaterThan(ranSeconds - 0.1);
  expect(billedUsd).toBeLessThan(ranSeconds + noticedMs / 1_000 + 0.1);
  const spentThen = await spentUsd();
  expect((await call(service, 'POST', `/sandboxes/${id}/exec`, { command: 'true' })).status).toBe(409);
  // A millisecond later a running one would have cost more.
  expect(await spentUsd()).toBe(spentThen);
  expect(await auditLedger(database())).toEqual([]);
};

describe('a machine that dies by itself is noticed at once: its sandbox fails, its command answers 502, its bill stops', () => {
  it.each([
    ['kill -9 of QEMU', 'SIGKILL'],
    ['a crash of QEMU', 'SIGSEGV'],
    ['an exit of QEMU', 'SIGTERM'],
  ] as const)('%s', endAndLook);

  it('also a machine that an earlier service started', async () => {
    const { id } = await createSandbox(service);
    await service.kill();
    await service.start();
    const endedAtMs = Date.now();
    signalProcess(await pidOf(id), 'SIGKILL');
    const status = async () => (await get<SandboxBody>(`/sandboxes/${id}`)).status;
    await expect.poll(status, { interval: 20, timeout: 10_000 }).toBe('failed');
    console.log(`kill -9 of an adopted QEMU: failed after ${Date.now() - endedAtMs} ms`);
    expect(Date.now() - endedAtMs).toBeLessThan(5_000);
  });
});
