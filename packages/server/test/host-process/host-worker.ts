// A host process with machines that have no process. Takes requests on standard input.

import { mkdir } from 'node:fs/promises';
import type { HostLimits } from '../../src/host-process/host-limits.ts';
import { runHost } from '../../src/host-process/run-host.ts';
import { runFolderOf } from '../../src/machines/protocol/run-folder.ts';
import { watchStopSignals } from '../../src/process/stop-signals.ts';
import { StubDriver } from '../core/stub-driver.ts';
import { serveRpc } from '../network/rpc.ts';
import { RecordedLog } from '../recorded-log.ts';

export interface StartRequest {
  readonly dataDir: string;
  readonly limits?: Partial<HostLimits>;
  /** The machines that an earlier host process left running. */
  readonly running?: readonly string[];
}

const driver = new StubDriver();
const log = new RecordedLog();
const destroysReleased = Promise.withResolvers<void>();
let heldLaunches = 0;
let heldDestroys = 0;

serveRpc({
  /** Starts the host process and waits until it listens. It exits with its code after a stop signal. */
  start: async ({ dataDir, limits, running = [] }: StartRequest) => {
    for (const id of running) await driver.launch({ id, size: 'small' });
    const openDriver = async (): Promise<StubDriver> => {
      await mkdir(runFolderOf(dataDir), { recursive: true });
      return driver;
    };
    const ended = runHost({ dataDir, serviceGid: process.getgid?.(), openDriver, log, limits }, watchStopSignals());
    while (!log.events.includes('host_listening')) {
      await Promise.race([ended.then(() => Promise.reject(new Error(lastError()))), new Promise(setImmediate)]);
    }
    void ended.then((code) => process.exit(code));
  },
  /** What this process holds after garbage collections. */
  heldBytes: async () => {
    for (let round = 0; round < 3; round += 1) {
      await new Promise(setImmediate);
      globalThis.gc?.();
    }
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  },
  machines: () => driver.machines.map(({ id, destroyed, dead }) => ({ id, destroyed, dead })),
  die: ({ machine, reason }: { machine: string; reason: string }) =>
    driver.machines.find(({ id }) => id === machine)?.die(reason),
  /** From now on, launches take until their service cancels them. */
  holdLaunches: () => {
    driver.beforeLaunched = async ({ signal }) => {
      heldLaunches += 1;
      await new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('aborted')));
      }).finally(() => {
        heldLaunches -= 1;
      });
    };
  },
  heldLaunches: () => heldLaunches,
  /** From now on, destructions take until they are released. */
  holdDestroys: () => {
    for (const machine of driver.machines) {
      machine.beforeDestroyed = async () => {
        heldDestroys += 1;
        await destroysReleased.promise;
        heldDestroys -= 1;
      };
    }
  },
  releaseDestroys: () => destroysReleased.resolve(),
  heldDestroys: () => heldDestroys,
  events: () => log.events,
});

function lastError(): string {
  const err = log.lines.findLast(({ level }) => level === 'error')?.fields.err;
  return err instanceof Error ? err.message : 'the host process ended';
}
