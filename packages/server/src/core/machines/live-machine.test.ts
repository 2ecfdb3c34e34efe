import { expect, test } from 'vitest';
import { StubMachine } from '../../../test/core/stub-driver.ts';
import { StubConnector } from '../../../test/core/stub-guest.ts';
import { GuestUnreachable } from '../ports/guest-agent.ts';
import { LiveMachine } from './live-machine.ts';

function newMachine() {
  const machine = new StubMachine({ id: 'sbx_a', size: 'small' });
  const connector = new StubConnector();
  return { machine, connector, live: new LiveMachine(machine, connector, 1_000) };
}

test('concurrent callers share one attach; a lost connection is attached again', async () => {
  const { connector, live } = newMachine();
  await Promise.all([live.agent(), live.agent()]);
  expect(connector.attaches).toHaveLength(1);
  connector.disconnect();
  await Promise.resolve();
  await live.agent();
  expect(connector.attaches).toHaveLength(2);
});

test('of expiries set at the same time, the agent ends up with the latest', async () => {
  const { connector, live } = newMachine();
  await Promise.all([live.setExpiry(30), live.setExpiry(90), live.setExpiry(60)]);
  expect(connector.expiries.at(-1)).toBe(90);
  await live.setExpiry(120);
  expect(connector.expiries.at(-1)).toBe(120);
});

test('a machine that exits fails everything that waits for it', async () => {
  const { machine, live } = newMachine();
  const waiting = live.whileAlive(new Promise<never>(() => {}));
  machine.die('killed by SIGKILL');
  await expect(waiting).rejects.toThrow('the machine is gone: killed by SIGKILL');
  await expect(live.agent()).rejects.toThrow(GuestUnreachable);
  expect(live.isLost).toBe(true);
});
