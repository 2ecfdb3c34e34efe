import { expect, test } from 'vitest';
import { Attacker } from '../../test/host-process/attacker.ts';
import { HostLab } from '../../test/host-process/host-lab.ts';
import { hostileMessages, knownIds, messageCounts } from '../../test/host-process/hostile-messages.ts';
import type { EgressPolicy, LaunchRequest } from '../core/ports/machine-driver.ts';

const { MAYFLY_FUZZ_HOST_MESSAGES: given, MAYFLY_TEST_LONG: long } = process.env;
const count = Number(given ?? (long === '1' ? messageCounts.full : messageCounts.short));
const seed = Number(process.env.MAYFLY_FUZZ_SEED ?? 1) || Date.now() % 2 ** 31;

/** Without the limits that would make this test wait. */
const fast = {
  callsPerSecond: 1_000_000,
  changesPerSecond: 1_000_000,
  handshakesPerSecond: 1_000_000,
  maxMachines: 60,
};

const plainId = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const plainEntry = /^(\*\.)?[a-z0-9_][a-z0-9_.-]*(\/\d{1,2})?$/;
const isPlain = (policy: EgressPolicy | undefined) =>
  typeof policy === 'string' ||
  (policy?.allow.every((entry) => plainEntry.test(entry) && !entry.includes('..')) ?? false);

test(`${count} hostile messages change nothing but machines of the data folder that they name`, {
  timeout: 600_000,
}, async () => {
  await using lab = await HostLab.open(fast);
  const owner = await lab.connect();
  await owner.launch({ id: 'innocent-1', size: 'small' });
  await owner[Symbol.asyncDispose]();
  const innocent = lab.driver.newest;
  const requests: LaunchRequest[] = [];
  lab.driver.beforeLaunched = async (request) => void requests.push(request);

  const attacker = new Attacker(() => lab.connectRaw());
  const startedAtMs = performance.now();
  for (const message of hostileMessages(count, seed)) await attacker.send(message);
  const seconds = (performance.now() - startedAtMs) / 1_000;

  const alive = lab.driver.machines.filter(({ destroyed }) => !destroyed);
  expect(requests.every(({ id, size }) => plainId.test(id) && ['small', 'medium', 'large'].includes(size))).toBe(true);
  expect([...requests.map(({ egress }) => egress), ...alive.flatMap(({ policies }) => policies)].every(isPlain)).toBe(
    true,
  );
  expect([innocent.destroyed, innocent.paused, innocent.policies]).toEqual([false, false, []]);
  expect(alive.length).toBeLessThanOrEqual(fast.maxMachines);
  expect(requests.some(({ id }) => knownIds.includes(id))).toBe(true);

  const next = await lab.connect();
  const adopted = await next.adopt();
  expect(adopted.map(({ id }) => id)).toContain('innocent-1');
  await adopted.find(({ id }) => id === 'innocent-1')?.pause();
  expect(innocent.paused).toBe(true);
  const violations = lab.hostLog.events.filter((event) => event === 'host_protocol_violated').length;
  expect(violations).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
  console.log(
    `${count} messages (seed ${seed}) in ${seconds.toFixed(0)} s: ${JSON.stringify(attacker.report())}; ` +
      `${requests.length} launches, ${alive.length} machines left, ${violations} log lines about violations`,
  );
});
