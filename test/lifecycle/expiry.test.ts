import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdingsOf } from '../support/chaos/holdings.ts';
import { ServiceProcess } from '../support/chaos/service-process.ts';
import { call, createSandbox, type SandboxBody } from '../support/http.ts';

const sweepMs = 60_000;
const teardownMs = 5_000;
const settings = { MAYFLY_POOL: 'small=0' };
let living: ServiceProcess;
let stopped: ServiceProcess;
beforeAll(async () => {
  [living, stopped] = await Promise.all([ServiceProcess.create(settings), ServiceProcess.create(settings)]);
});
afterAll(() => Promise.all([living.remove(), stopped.remove()]));

const expiryOf = ({ expires_at }: SandboxBody): number => Date.parse(expires_at ?? '');

/** Waits until a sandbox is gone because its time was up; gives how late that was. */
const untilExpired = async (service: ServiceProcess, { id }: SandboxBody): Promise<number> => {
  const now = async () => (await (await call(service, 'GET', `/sandboxes/${id}`)).json()) as SandboxBody;
  await expect
    .poll(async () => (await now()).status, { interval: 50, timeout: 2 * sweepMs + teardownMs })
    .toBe('deleted');
  const sandbox = await now();
  expect(sandbox.status_reason).toBe('expired');
  expect(await holdingsOf(service.dataDir)).toMatchObject({ processes: [], folders: [], cgroups: [] });
  return Date.parse(sandbox.deleted_at ?? '') - expiryOf(sandbox);
};

// Both wait out the shortest lifetime there is, so they do it together.
describe.concurrent('a sandbox whose time is up is destroyed', () => {
  it('at most a minute late', async () => {
    const sandbox = await createSandbox(living, { timeout_minutes: 1 });
    // A start sweeps, so the sweep after the next one comes soon after the sandbox's time.
    await living.kill();
    await living.start();
    const lateMs = await untilExpired(living, sandbox);
    console.log(`a running service destroyed it ${lateMs} ms after its time`);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(sweepMs + teardownMs);
  }, 180_000);

  it('right after the start, if the service was down then', async () => {
    const sandbox = await createSandbox(stopped, { timeout_minutes: 1 });
    await stopped.kill();
    await pause(expiryOf(sandbox) - Date.now() + 100);
    await stopped.start();
    const startedAtMs = Date.now();
    await untilExpired(stopped, sandbox);
    console.log(`a service that was down destroyed it ${Date.now() - startedAtMs} ms after it was ready again`);
    expect(Date.now() - startedAtMs).toBeLessThan(teardownMs);
    const usage = (await (await call(stopped, 'GET', '/usage')).json()) as { runtime_minutes: number };
    // Nothing past its expiry is billed.
    expect(usage.runtime_minutes).toBe(1);
  }, 180_000);
});
