import { afterAll, beforeAll, expect, it } from 'vitest';
import type { GuestAgent } from '#server/core/ports/guest-agent.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

const dayMs = 24 * 60 * 60_000;
const attachMs = 60_000;
let host: TestDriver;
beforeAll(async () => {
  host = await createTestDriver();
});
afterAll(() => host?.remove());

/** The guest's clock. */
async function date(agent: GuestAgent, id: string): Promise<number> {
  const request = { command: 'date +%s%3N', cwd: '/', env: {}, timeoutMs: 30_000, captureBytes: 100 };
  return Number((await agent.execute({ id, ...request })).stdout.toString());
}

it('the clock of a machine is correct although its state was saved with a clock five days behind', async () => {
  const old = await host.driver.launch({ id: 'old', size: 'small' });
  const fiveDaysAgo = createGuestConnector({ now: () => Date.now() - 5 * dayMs });
  const savedAgent = await fiveDaysAgo.attach(old, attachMs);
  await savedAgent.setClock();
  await old.save('snap_old');
  savedAgent.close();
  await old.destroy();

  const machine = await host.driver.launch({ id: 'restored', size: 'small', snapshotId: 'snap_old' });
  try {
    const agent = await createGuestConnector().attach(machine, attachMs);
    const behindMs = Date.now() - (await date(agent, 'exec_before'));
    expect(behindMs).toBeGreaterThan(4.9 * dayMs);
    await agent.setIdentity({ hostname: 'now', machineId: '0123456789abcdef0123456789abcdef', expiresAtMs: 0 });
    const before = Date.now();
    const guest = await date(agent, 'exec_after');
    const after = Date.now();
    console.log(
      `restored ${(behindMs / dayMs).toFixed(2)} days behind; then within [${guest - after}, ${guest - before}] ms of the host`,
    );
    expect(guest).toBeGreaterThan(before - 500);
    expect(guest).toBeLessThan(after + 500);
  } finally {
    await machine.destroy();
    await host.driver.deleteSnapshot('snap_old');
  }
});
