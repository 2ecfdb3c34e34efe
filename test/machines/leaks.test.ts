import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { type StepName, stepNames } from '#server/machines/qemu/steps.ts';
import { withBrokenProgram } from '../support/broken-program.ts';
import { makeTestDriver, type TestDriver } from '../support/driver.ts';
import { describeFault, FaultySteps, faultsOf, type Passage } from '../support/faults.ts';
import { hostState, openDescriptors, openHostState } from '../support/host-state.ts';

/** Only adoption passes these; test/adoption breaks them. */
const adoptionSteps: readonly StepName[] = ['adopt network', 'find agent ports', 'settle migration'];

const steps = new FaultySteps();
const passages: Record<'launch' | 'pause' | 'resume' | 'destroy', Passage[]> = {
  launch: [],
  pause: [],
  resume: [],
  destroy: [],
};
let untouched: string;
let host: TestDriver;
let clean: string[];
let descriptors: Record<string, number>;
let launches = 0;
/** What the driver logged as an error. */
const events: string[] = [];

const launch = (signal?: AbortSignal): Promise<QemuMachine> => {
  launches += 1;
  return host.driver.launch({ id: `m${launches}`, size: 'small', egress: 'none', ...(signal ? { signal } : {}) });
};
const look = (): string[] => openHostState(dirname(host.machinesDir));
/** What the host looks like when nothing is passing by: the same three times over. */
const settled = async (): Promise<string[]> => {
  for (let tries = 0, same = 0, last = look(); tries < 50; tries += 1) {
    await setTimeout(200);
    const now = look();
    same = isDeepStrictEqual(now, last) ? same + 1 : 0;
    if (same === 2) return now;
    last = now;
  }
  throw new Error('the host did not come to rest before the tests');
};
/** Looks more than once only because the driver's look at the host's rules, every ten seconds, is a few short processes. */
const expectClean = async (after: string): Promise<void> => {
  const seen = () => ({ after, host: look() });
  await expect.poll(seen, { timeout: 5_000, interval: 50 }).toEqual({ after, host: clean });
};

/** What an operation passes and leaves when nothing goes wrong; every later test breaks exactly that. */
beforeAll(async () => {
  untouched = await hostState();
  const note = (_fields: object, event: string): number => events.push(event);
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: note };
  host = await makeTestDriver({ networksAhead: 0, cleanupRetryMs: 20, step: steps.step, log });
  let machine: QemuMachine | undefined;
  passages.launch = await steps.record(async () => {
    machine = await launch();
  });
  passages.pause = await steps.record(async () => machine?.pause());
  passages.resume = await steps.record(async () => machine?.resume());
  passages.destroy = await steps.record(async () => machine?.destroy());
  clean = await settled();
  descriptors = openDescriptors();
});
afterAll(async () => {
  await host.remove();
});

it('every step there is is passed, so every one is broken below', () => {
  const passed = new Set(Object.values(passages).flatMap((list) => list.map(({ name }) => name)));
  expect([...stepNames].filter((name) => !passed.has(name))).toEqual(adoptionSteps);
  const count = (list: readonly Passage[]) => `${list.length}`;
  console.log(
    `steps: launch ${count(passages.launch)}, pause ${count(passages.pause)}, resume ${count(passages.resume)}, destroy ${count(passages.destroy)}`,
  );
});

it('a launch that fails at any step, before or after it took effect, leaves nothing', async () => {
  const faults = faultsOf(passages.launch);
  for (const fault of faults) {
    steps.arm([fault]);
    await expect(launch()).rejects.toThrow(`injected ${describeFault(fault)}`);
    await expectClean(describeFault(fault));
  }
  expect(events).toEqual([]);
  console.log(`${faults.length} broken launches left nothing`);
}, 300_000);

it('a launch that is aborted at any step fails and leaves nothing', async () => {
  const faults = faultsOf(passages.launch);
  for (const fault of faults) {
    const abort = new AbortController();
    steps.arm([fault], () => abort.abort());
    await expect(launch(abort.signal)).rejects.toMatchObject({ name: 'AbortError' });
    expect(steps.armed).toEqual([]);
    await expectClean(describeFault(fault));
  }
  expect(events).toEqual([]);
  console.log(`${faults.length} aborted launches left nothing`);
}, 300_000);

it('a failed launch whose clean-up fails too is cleared away by itself soon after', async () => {
  const faults = faultsOf(passages.destroy);
  const last = { name: 'let run', nth: 1, when: 'after' } as const;
  for (const fault of faults) {
    steps.arm([last, fault]);
    await expect(launch()).rejects.toThrow(`injected ${describeFault(last)}`);
    expect(steps.armed).toEqual([]);
    expect(events.splice(0)).toEqual(['cleanup_failed']);
    await expectClean(describeFault(fault));
  }
  console.log(`${faults.length} broken clean-ups of failed launches were made good`);
}, 300_000);

it('a destroy that fails at any step is finished by the next', async () => {
  const faults = faultsOf(passages.destroy);
  for (const fault of faults) {
    const machine = await launch();
    steps.arm([fault]);
    await expect(machine.destroy()).rejects.toThrow(`injected ${describeFault(fault)}`);
    await machine.destroy();
    expect(await machine.exited).toMatchObject({ requested: true });
    await expectClean(describeFault(fault));
  }
  console.log(`${faults.length} broken destroys were finished by the next`);
}, 300_000);

it('a pause or resume that fails leaves a machine that answers, and that can be destroyed', async () => {
  const machine = await launch();
  const connector = createGuestConnector();
  const answers = async (): Promise<void> => {
    const agent = await connector.attach(machine, 30_000);
    expect((await agent.hello()).protocol).toBe(1);
    agent.close();
    await agent.closed;
  };
  for (const fault of faultsOf(passages.pause)) {
    steps.arm([fault]);
    await expect(machine.pause()).rejects.toThrow(`injected ${describeFault(fault)}`);
    await answers();
  }
  for (const fault of faultsOf(passages.resume)) {
    await machine.pause();
    steps.arm([fault]);
    await expect(machine.resume()).rejects.toThrow(`injected ${describeFault(fault)}`);
    await machine.resume();
    await answers();
  }
  await machine.pause();
  steps.arm([{ name: 'resume', nth: 1, when: 'before' }]);
  await expect(machine.resume()).rejects.toThrow('injected');
  await machine.destroy();
  await expectClean('a failed resume');
});

it('a network that fails in the middle of being made leaves nothing', async () => {
  for (const program of ['nsenter', 'nft', 'tc']) {
    await withBrokenProgram(program, async () => {
      steps.arm([]);
      await expect(launch()).rejects.toThrow();
    });
    await expectClean(program);
  }
});

it('no descriptor is left open, and a stop leaves the host as it was', async () => {
  await expect.poll(openDescriptors, { timeout: 5_000 }).toEqual(descriptors);
  await host.driver.close();
  expect(await hostState()).toBe(untouched);
});
