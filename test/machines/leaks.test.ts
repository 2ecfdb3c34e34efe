import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { type StepName, saveSteps, stepNames } from '#server/machines/qemu/steps.ts';
import {
  describeFault,
  FaultySteps,
  faultsOf,
  type StepOccurrence,
  someFaultsOf,
  withBrokenProgram,
} from '../support/fault-injection.ts';
import { hostState, leftSince, openDescriptors, openHostState } from '../support/host-state.ts';
import { length } from '../support/length.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

/** Steps that only adoption runs; test/adoption injects faults into them. */
const adoptionSteps: readonly StepName[] = ['adopt network', 'find agent ports', 'finish migration', 'clean up save'];
/** Steps that only snapshots run; snapshots.test.ts injects faults into them. */
const snapshotSteps: readonly StepName[] = ['link origin', ...saveSteps];

const steps = new FaultySteps();
const recorded: Record<'launch' | 'pause' | 'resume' | 'destroy', StepOccurrence[]> = {
  launch: [],
  pause: [],
  resume: [],
  destroy: [],
};
let initialState: string;
let host: TestDriver;
let cleanState: string[];
let descriptors: Record<string, number>;
let launches = 0;
/** The events that the driver logged as errors. */
const events: string[] = [];

function launch(signal?: AbortSignal): Promise<QemuMachine> {
  launches += 1;
  return host.driver.launch({ id: `m${launches}`, size: 'small', egress: 'none', ...(signal ? { signal } : {}) });
}
function currentState(): string[] {
  return openHostState(dirname(host.machinesDir));
}
/** The state of the host once it is stable: three equal observations in a row. */
async function stableState(): Promise<string[]> {
  for (let tries = 0, same = 0, last = currentState(); tries < 50; tries += 1) {
    await setTimeout(200);
    const now = currentState();
    same = isDeepStrictEqual(now, last) ? same + 1 : 0;
    if (same === 2) return now;
    last = now;
  }
  throw new Error('the host did not become stable before the tests');
}
/** Polls because the driver checks the firewall every ten seconds, which shows as a few short-lived processes. */
async function expectClean(after: string): Promise<void> {
  const observed = () => ({ after, host: currentState() });
  await expect.poll(observed, { interval: 50 }).toEqual({ after, host: cleanState });
}

/** Records the steps of every operation and the state it leaves without faults. The tests inject faults into exactly these steps. */
beforeAll(async () => {
  initialState = await hostState();
  const recordEvent = (_fields: object, event: string): number => events.push(event);
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: recordEvent };
  host = await createTestDriver({ networksAhead: 0, cleanupRetryMs: 20, step: steps.step, log });
  let machine: QemuMachine | undefined;
  recorded.launch = await steps.record(async () => {
    machine = await launch();
  });
  recorded.pause = await steps.record(async () => machine?.pause());
  recorded.resume = await steps.record(async () => machine?.resume());
  recorded.destroy = await steps.record(async () => machine?.destroy());
  cleanState = await stableState();
  descriptors = openDescriptors();
});
afterAll(async () => {
  await host.remove();
});

it('the operations run every step except those of adoption and snapshots, so faults are injected into all of them', () => {
  const ran = new Set(Object.values(recorded).flatMap((list) => list.map(({ name }) => name)));
  const others = stepNames.filter((name) => !ran.has(name) && !snapshotSteps.includes(name));
  expect(others).toEqual(adoptionSteps);
  const count = (list: readonly StepOccurrence[]) => `${list.length}`;
  console.log(
    `steps: launch ${count(recorded.launch)}, pause ${count(recorded.pause)}, resume ${count(recorded.resume)}, destroy ${count(recorded.destroy)}`,
  );
});

it('a launch that fails at any step, before or after it took effect, leaves nothing', async () => {
  const faults = faultsOf(recorded.launch);
  for (const fault of faults) {
    steps.arm([fault]);
    await expect(launch()).rejects.toThrow(`injected ${describeFault(fault)}`);
    await expectClean(describeFault(fault));
  }
  expect(events).toEqual([]);
  console.log(`${faults.length} failed launches left nothing`);
});

it('a launch that is aborted at any step fails and leaves nothing', async () => {
  const faults = length(someFaultsOf, faultsOf)(recorded.launch);
  for (const fault of faults) {
    const abort = new AbortController();
    steps.arm([fault], () => abort.abort());
    await expect(launch(abort.signal)).rejects.toMatchObject({ name: 'AbortError' });
    expect(steps.armed).toEqual([]);
    await expectClean(describeFault(fault));
  }
  expect(events).toEqual([]);
  console.log(`${faults.length} aborted launches left nothing`);
});

it('a failed launch whose cleanup fails too is cleaned up by a retry', async () => {
  const faults = faultsOf(recorded.destroy);
  const last = { name: 'start vcpus', nth: 1, when: 'after' } as const;
  for (const fault of faults) {
    steps.arm([last, fault]);
    await expect(launch()).rejects.toThrow(`injected ${describeFault(last)}`);
    expect(steps.armed).toEqual([]);
    expect(events.splice(0)).toEqual(['cleanup_failed']);
    await expectClean(describeFault(fault));
  }
  console.log(`${faults.length} failed cleanups of failed launches were retried successfully`);
});

it('a destroy that fails at any step is completed by the next', async () => {
  const faults = faultsOf(recorded.destroy);
  for (const fault of faults) {
    const machine = await launch();
    steps.arm([fault]);
    await expect(machine.destroy()).rejects.toThrow(`injected ${describeFault(fault)}`);
    await machine.destroy();
    expect(await machine.exited).toMatchObject({ requested: true });
    await expectClean(describeFault(fault));
  }
  console.log(`${faults.length} failed destroys were completed by the next`);
});

it('a pause or resume that fails leaves a machine that responds and can be destroyed', async () => {
  const machine = await launch();
  const connector = createGuestConnector();
  const expectResponds = async (): Promise<void> => {
    const agent = await connector.attach(machine, 30_000);
    expect((await agent.hello()).protocol).toBe(1);
    agent.close();
    await agent.closed;
  };
  for (const fault of faultsOf(recorded.pause)) {
    steps.arm([fault]);
    await expect(machine.pause()).rejects.toThrow(`injected ${describeFault(fault)}`);
    await expectResponds();
  }
  for (const fault of faultsOf(recorded.resume)) {
    await machine.pause();
    steps.arm([fault]);
    await expect(machine.resume()).rejects.toThrow(`injected ${describeFault(fault)}`);
    await machine.resume();
    await expectResponds();
  }
  await machine.pause();
  steps.arm([{ name: 'resume', nth: 1, when: 'before' }]);
  await expect(machine.resume()).rejects.toThrow('injected');
  await machine.destroy();
  await expectClean('a failed resume');
});

it('a network whose creation fails half-way leaves nothing', async () => {
  for (const program of ['nsenter', 'nft', 'tc']) {
    await withBrokenProgram(program, async () => {
      steps.arm([]);
      await expect(launch()).rejects.toThrow();
    });
    await expectClean(program);
  }
});

it('no descriptor is left open, and a stop leaves the host as it was', async () => {
  await expect.poll(openDescriptors).toEqual(descriptors);
  await host.driver[Symbol.asyncDispose]();
  expect(await leftSince(initialState)).toEqual([]);
});
