import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { machineDeathNoticedMs } from '#server-test/promises.ts';
import { call, createSandbox, type SandboxBody } from '../support/api-requests.ts';
import { auditLedger } from '../support/chaos/audit.ts';
import { sqliteFile } from '../support/chaos/database.ts';
import { machinePids, signalProcess } from '../support/machine-processes.ts';
import { RestartableService } from '../support/restartable-service.ts';

/** At a dollar per second, even milliseconds show in the bill. */
const settings = { MAYFLY_PRICE_SMALL: '3600', MAYFLY_BOOTSTRAP_CREDIT_USD: '1000000' };
let service: RestartableService;
beforeAll(async () => {
  service = await RestartableService.create(settings);
});
afterAll(() => service.remove());

async function get<Body>(path: string): Promise<Body> {
  return (await (await call(service, 'GET', path)).json()) as Body;
}
async function spentUsd() {
  return (await get<{ spent_usd: number }>('/usage')).spent_usd;
}
function database() {
  return sqliteFile(service.databasePath);
}

async function pidOf(sandboxId: string): Promise<number> {
  const [row] = await database().rows(`select machine_id from sandboxes where id = '${sandboxId}'`);
  const pid = (await machinePids(service.dataDir)).get(String(row?.machine_id));
  if (pid === undefined) throw new Error(`${sandboxId} has no process`);
  return pid;
}

/** Kills the machine while a command runs in it, and checks everything a user would notice. */
async function expectDetected(what: string, signal: NodeJS.Signals): Promise<void> {
  const spentBefore = await spentUsd();
  const { id } = await createSandbox(service);
  const pending = call(service, 'POST', `/sandboxes/${id}/exec`, { command: 'sleep 60' });
  const running = async () => (await get<{ data: unknown[] }>(`/sandboxes/${id}/executions`)).data.length;
  await expect.poll(running).toBe(1);
  const pid = await pidOf(id);
  const killedAtMs = Date.now();
  expect(signalProcess(pid, signal)).toBe(true);

  const response = await pending;
  const respondedMs = Date.now() - killedAtMs;
  expect([response.status, await response.json()]).toMatchObject([502, { error: { type: 'execution_failed' } }]);
  const read = () => get<SandboxBody>(`/sandboxes/${id}`);
  await expect.poll(async () => (await read()).status, { interval: 20 }).toBe('failed');
  const detectedMs = Date.now() - killedAtMs;
  console.log(`${what}: 502 after ${respondedMs} ms, failed after ${detectedMs} ms`);
  expect(respondedMs).toBeLessThan(machineDeathNoticedMs);
  expect(detectedMs).toBeLessThan(machineDeathNoticedMs);

  const sandbox = await read();
  expect(sandbox.status_reason).toMatch(/^machine_died: ./);
  const endedAtMs = Date.parse(sandbox.ended_at ?? '');
  expect(endedAtMs).toBeGreaterThanOrEqual(killedAtMs);
  expect(endedAtMs).toBeLessThanOrEqual(killedAtMs + detectedMs);
  const ranSeconds = (killedAtMs - Date.parse(sandbox.ready_at ?? '')) / 1_000;
  const billedUsd = (await spentUsd()) - spentBefore;
  expect(billedUsd).toBeGreaterThan(ranSeconds - 0.1);
  expect(billedUsd).toBeLessThan(ranSeconds + detectedMs / 1_000 + 0.1);
  const spentAfter = await spentUsd();
  expect((await call(service, 'POST', `/sandboxes/${id}/exec`, { command: 'true' })).status).toBe(409);
  // If the sandbox were still billed, the request above would have increased this.
  expect(await spentUsd()).toBe(spentAfter);
  expect(await auditLedger(database())).toEqual([]);
}

describe('the death of a machine is detected: its sandbox fails, its command responds with 502, billing stops', () => {
  it.each([
    ['kill -9 of QEMU', 'SIGKILL'],
    ['a crash of QEMU', 'SIGSEGV'],
    ['an exit of QEMU', 'SIGTERM'],
  ] as const)('%s', expectDetected);

  it('even if an earlier run of the service launched the machine', async () => {
    const { id } = await createSandbox(service);
    await service.kill();
    await service.start();
    const killedAtMs = Date.now();
    signalProcess(await pidOf(id), 'SIGKILL');
    const status = async () => (await get<SandboxBody>(`/sandboxes/${id}`)).status;
    await expect.poll(status, { interval: 20 }).toBe('failed');
    console.log(`kill -9 of an adopted QEMU: failed after ${Date.now() - killedAtMs} ms`);
    expect(Date.now() - killedAtMs).toBeLessThan(machineDeathNoticedMs);
  });
});
