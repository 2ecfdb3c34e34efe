import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, it, type TestContext } from 'vitest';
import { call, createSandbox, type SandboxBody } from '../support/api-requests.ts';
import { heldResources } from '../support/chaos/held-resources.ts';
import { RestartableService } from '../support/restartable-service.ts';

const sweepMs = 60_000;
/** Many times what a teardown takes. */
const teardownMs = 60_000;
const settings = { MAYFLY_POOL: 'small=0' };
let running: RestartableService;
let stopped: RestartableService;
beforeAll(async () => {
  [running, stopped] = await Promise.all([RestartableService.create(settings), RestartableService.create(settings)]);
});
afterAll(() => Promise.all([running.remove(), stopped.remove()]));

function expiryOf({ expires_at }: SandboxBody): number {
  return Date.parse(expires_at ?? '');
}

/** Waits until a sandbox has been destroyed because it expired. Returns how late that was, in milliseconds. */
async function untilExpired(
  { expect }: TestContext,
  service: RestartableService,
  expiring: SandboxBody,
): Promise<number> {
  const read = async () => (await (await call(service, 'GET', `/sandboxes/${expiring.id}`)).json()) as SandboxBody;
  // Its record tells when it was destroyed, so nobody has to look before its expiry, nor often.
  await pause(Math.max(expiryOf(expiring) - Date.now(), 0));
  await expect
    .poll(async () => (await read()).status, { interval: 250, timeout: 2 * sweepMs + teardownMs })
    .toBe('deleted');
  const sandbox = await read();
  expect(sandbox.status_reason).toBe('expired');
  // However late it was destroyed.
  expect(sandbox.ended_at).toBe(sandbox.expires_at);
  expect(await heldResources(service.dataDir)).toMatchObject({ processes: [], folders: [], cgroups: [] });
  return Date.parse(sandbox.deleted_at ?? '') - expiryOf(sandbox);
}

// Both wait for the shortest possible lifetime, so they run together, each with the `expect` of its own test.
describe.concurrent('an expired sandbox is destroyed', () => {
  it('at most a minute after its expiry', async (test) => {
    const { expect } = test;
    const sandbox = await createSandbox(running, { timeout_minutes: 1 });
    // The service sweeps at its start, so its second sweep comes soon after the expiry.
    await running.kill();
    await running.start();
    const lateMs = await untilExpired(test, running, sandbox);
    console.log(`a running service destroyed it ${lateMs} ms after its expiry`);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(sweepMs + teardownMs);
  });

  it('right after the next start, if the service was down when it expired', async (test) => {
    const { expect } = test;
    const sandbox = await createSandbox(stopped, { timeout_minutes: 1 });
    await stopped.kill();
    await pause(expiryOf(sandbox) - Date.now() + 100);
    await stopped.start();
    const startedAtMs = Date.now();
    await untilExpired(test, stopped, sandbox);
    console.log(`a restarted service destroyed it ${Date.now() - startedAtMs} ms after its start`);
    expect(Date.now() - startedAtMs).toBeLessThan(teardownMs);
    const usage = (await (await call(stopped, 'GET', '/usage')).json()) as { runtime_minutes: number };
    // The time after the expiry is not billed.
    expect(usage.runtime_minutes).toBe(1);
  });
});
