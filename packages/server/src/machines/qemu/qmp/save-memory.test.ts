import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ScriptedMonitor } from '../../../../test/machines/scripted-monitor.ts';
import { finishMigration, saveMemory } from './save-memory.ts';

interface Machine {
  running: boolean;
  migration: string;
  /** Whether it reaches the instant while it runs. */
  converges: boolean;
  /** Whether it has reported the end of the save, but does not accept to go on yet. */
  isFinalizing: boolean;
}

function stateOf({ running, migration, isFinalizing }: Machine): string {
  if (running) return 'running';
  if (migration !== 'completed') return 'paused';
  return isFinalizing ? 'finish-migrate' : 'postmigrate';
}

/** A QEMU that saves its memory as a real one does. */
function qemu({ running = true, converges = true } = {}) {
  const machine: Machine = { running, migration: 'none', converges, isFinalizing: false };
  const reach = (status: string): void => {
    machine.migration = status;
    monitor.emit('MIGRATION', { status });
  };
  const stop = (atMs: number): void => {
    if (machine.running) monitor.emit('STOP', {}, atMs);
    machine.running = false;
  };
  const monitor: ScriptedMonitor = new ScriptedMonitor({
    'query-status': () => ({ running: machine.running, status: stateOf(machine) }),
    'query-migrate': () => ({ status: machine.migration, 'error-desc': 'No space left on device' }),
    'migrate-set-capabilities': () => ({}),
    'migrate-set-parameters': () => ({}),
    migrate: () => {
      machine.migration = 'active';
      if (machine.converges || !machine.running) setImmediate(arrive);
      return {};
    },
    stop: () => {
      stop(5_000);
      if (machine.migration === 'active') setImmediate(arrive);
      return {};
    },
    'migrate-continue': () => {
      machine.isFinalizing = true;
      setImmediate(() => reach('completed'));
      return {};
    },
    migrate_cancel: () => {
      setImmediate(() => reach('cancelled'));
      machine.migration = 'cancelling';
      return {};
    },
    cont: () => {
      if (machine.isFinalizing) {
        machine.isFinalizing = false;
        throw new Error('Migration is not finalized yet');
      }
      machine.running = true;
      monitor.emit('RESUME', {}, 5_180);
      return {};
    },
  });
  const arrive = (): void => {
    stop(5_000);
    reach('pre-switchover');
  };
  return { monitor, machine, reach };
}

const signal = new AbortController().signal;
const nothing = async (): Promise<void> => {};

test('a running machine is saved, stands still for a moment, and goes on', async () => {
  const { monitor, machine } = qemu();
  const seen: [string, boolean, string][] = [];
  const note = (moment: string) => async () => void seen.push([moment, machine.running, machine.migration]);
  const save = { path: '/m/memory', afterOpen: note('open'), atInstant: note('instant'), signal };
  expect(await saveMemory(monitor, save)).toBe(180);
  expect(seen).toEqual([
    ['open', true, 'active'],
    ['instant', false, 'pre-switchover'],
  ]);
  expect(machine.running).toBe(true);
});

test('a paused machine stays paused', async () => {
  const { monitor, machine } = qemu({ running: false });
  await saveMemory(monitor, { path: '/m/memory', atInstant: nothing, signal });
  expect(machine.running).toBe(false);
});

test('a machine that changes its memory too fast is stopped for the rest', async () => {
  const { monitor, machine } = qemu({ converges: false });
  const deadlines = { convergeMs: 10, stoppedMs: 10_000, memoryMs: 10_000 };
  const runningBefore: boolean[] = [];
  const beforeStop = async (): Promise<void> => void runningBefore.push(machine.running);
  const save = { path: '/m/memory', atInstant: nothing, beforeStop, signal, deadlines };
  expect(await saveMemory(monitor, save)).toBe(180);
  expect([runningBefore, machine.running]).toEqual([[true], true]);
});

test('a machine does not stand still for long: the save fails, says why, and the machine goes on', async () => {
  const { monitor, machine } = qemu();
  const deadlines = { convergeMs: 10_000, stoppedMs: 10, memoryMs: 60_000 };
  const atInstant = () => new Promise<never>(() => {});
  const saved = saveMemory(monitor, { path: '/m/memory', atInstant, signal, deadlines });
  await expect(saved).rejects.toThrow('it changes its memory faster than the disk can store it');
  expect([machine.running, machine.migration]).toEqual([true, 'cancelled']);
});

test('the time to stand still does not apply to a machine that was paused before', async () => {
  const { monitor, machine } = qemu({ running: false });
  const deadlines = { convergeMs: 10_000, stoppedMs: 1, memoryMs: 60_000 };
  const atInstant = () => delay(20);
  await saveMemory(monitor, { path: '/m/memory', atInstant, signal, deadlines });
  expect(machine.running).toBe(false);
});

test('a machine goes on when the disk cannot be saved at the instant', async () => {
  const { monitor, machine } = qemu();
  const atInstant = () => Promise.reject(new Error('the layer could not be added'));
  await expect(saveMemory(monitor, { path: '/m/memory', atInstant, signal })).rejects.toThrow(
    'the layer could not be added',
  );
  expect([machine.running, machine.migration]).toEqual([true, 'cancelled']);
});

test('a save that QEMU gives up says why, and the machine goes on', async () => {
  const { monitor, machine, reach } = qemu({ converges: false });
  const saved = saveMemory(monitor, { path: '/m/memory', atInstant: nothing, signal });
  void monitor.ran('migrate').then(() => setImmediate(() => reach('failed')));
  await expect(saved).rejects.toThrow('The memory could not be saved: No space left on device');
  expect(machine.running).toBe(true);
});

test('a cancelled save ends at once, and the machine goes on', async () => {
  const { monitor, machine } = qemu({ converges: false });
  const cancel = new AbortController();
  const saved = saveMemory(monitor, { path: '/m/memory', atInstant: nothing, signal: cancel.signal });
  void monitor.ran('migrate').then(() => setImmediate(() => cancel.abort()));
  await expect(saved).rejects.toThrow('The save was cancelled.');
  expect([machine.running, machine.migration]).toEqual([true, 'cancelled']);
});

test('a save fails at once when QEMU exits', async () => {
  const { monitor } = qemu({ converges: false });
  const saved = saveMemory(monitor, { path: '/m/memory', atInstant: nothing, signal });
  void monitor.ran('migrate').then(() => setImmediate(() => monitor.exit()));
  await expect(saved).rejects.toThrow('QEMU exited during the save.');
});

test('a machine whose save was interrupted at the instant runs again after its adoption', async () => {
  const { monitor, machine, reach } = qemu();
  machine.running = false;
  reach('pre-switchover');
  await finishMigration(monitor, false);
  expect([machine.running, machine.migration]).toEqual([true, 'cancelled']);
});

test('a machine that was stopped for a save which QEMU has ended already runs again after its adoption', async () => {
  const { monitor, machine } = qemu({ running: false });
  machine.migration = 'cancelled';
  await finishMigration(monitor, false);
  expect(machine.running).toBe(false);
  await finishMigration(monitor, true);
  expect(machine.running).toBe(true);
});

test('a machine that was saved and not resumed runs again after its adoption, and a paused one stays paused', async () => {
  const { monitor, machine } = qemu();
  machine.running = false;
  await finishMigration(monitor, false);
  expect(machine.running).toBe(false);
  machine.migration = 'completed';
  await finishMigration(monitor, false);
  expect(machine.running).toBe(true);
});
