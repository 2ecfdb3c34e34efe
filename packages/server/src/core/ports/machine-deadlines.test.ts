import { expect, test } from 'vitest';
import { machineDeadlines } from './machine-deadlines.ts';

const { service, connection, host, launch, network, attach, save, destroy, template } = machineDeadlines;

/** Whether each time is longer than the one before it. */
function expectAscending(...times: readonly number[]): void {
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(new Set(times).size).toBe(times.length);
}

test('a launch: a step that hangs is named before the caller is answered, and the service gives up before the host process', () => {
  for (const stepMs of [...Object.values(launch), ...Object.values(network)])
    expectAscending(stepMs, service.launchMs, host.launchMs, connection.callMs);
});

test('a launch: the host process waits longer than all steps of QEMU may take together', () => {
  const { openMonitorMs, answerMs: greetingMs, loadStateMs, answerMs: startMs } = launch;
  expectAscending(openMonitorMs + greetingMs + loadStateMs + startMs, host.launchMs);
});

test('an attach has time to open its ports more than once, and to wait longer for the agent each time', () => {
  const attempts = [1, 2, 4, 8].map((factor) => attach.openChannelMs + factor * attach.firstSyncMs);
  expectAscending(
    attempts.reduce((sum, attemptMs) => sum + attemptMs, 0),
    service.attachMs,
  );
});

test('a save: each step ends before all of them, then the host process, the connection and the caller give up', () => {
  const { allStepsMs, ...steps } = save;
  for (const stepMs of Object.values(steps)) {
    expectAscending(stepMs, allStepsMs, host.saveMs, connection.saveMs, service.saveMs);
  }
  expectAscending(save.convergeMs, save.stoppedMs, save.memoryMs);
});

test('a save that is cancelled for its time has ended before the host process gives up', () => {
  for (const cancelMs of [save.cancelMemoryMs, save.cancelFlattenMs]) {
    expectAscending(save.allStepsMs + cancelMs, host.saveMs);
  }
});

test('a destruction waits longer for a cancelled save than QEMU may take to cancel it', () => {
  for (const cancelMs of [save.cancelMemoryMs, save.cancelFlattenMs]) expectAscending(cancelMs, destroy.endSaveMs);
});

test('a destruction: a delete is answered first, and the host process waits longer than the steps may take together', () => {
  const steps = Object.values(destroy).reduce((sum, stepMs) => sum + stepMs, 0);
  expectAscending(service.teardownMs, steps, host.callMs, connection.callMs);
});

test('a template has more time to boot than a machine has to answer', () => {
  expectAscending(service.attachMs, template.bootMs);
  expectAscending(launch.loadStateMs, template.saveStateMs);
});
