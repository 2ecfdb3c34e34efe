import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { readLogTail } from '../machine-process.ts';

/** A machine stopped making progress before it was ready, as when a virtual CPU misses a timer on an overloaded host. */
export class BootStalled extends Error {
  override readonly name = 'BootStalled';
}

/** A boot is tried this often before the template fails. */
export const maxBootAttempts = 3;

/** Boots again after BootStalled, up to maxBootAttempts times in all. Any other error is final. */
export async function retryStalledBoot<T>(
  boot: () => Promise<T>,
  onRetry: (error: BootStalled, attempt: number) => void,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await boot();
    } catch (error) {
      if (!(error instanceof BootStalled) || attempt === maxBootAttempts) throw error;
      onRetry(error, attempt);
    }
  }
}

/**
 * A boot has stalled when QEMU needs less than this share of one CPU for this long. A booting machine computes all the time. Once its kernel has
 * missed a timer, the other virtual CPUs still compute a little while they wait for it, and the boot would take hours.
 */
const stall = { windowMs: 60_000, minBusyShare: 0.05, minBusyShareAfterMissedTimer: 0.5 };

/**
 * What the guest's kernel prints about a timer that should have fired 21 seconds ago. On an overloaded host it may only be late; when the kernel
 * says so for the third time, the timer of a virtual CPU has stopped for good, and the boot would take hours whatever the others compute.
 */
const missedTimer = /kthread timer wakeup didn't happen/g;
const mostReports = 2;

/** Decides from samples of a process's CPU demand whether it has stalled. */
export class StallDetector {
  #windowStartMs: number | undefined;
  #busyInWindowMs = 0;
  #lastDemandMs = 0;

  /** Takes the time of the sample, the CPU demand and the console so far. Returns whether the machine has stalled. */
  isStalled(nowMs: number, demandMs: number, console: string): boolean {
    const reports = console.match(missedTimer)?.length ?? 0;
    if (reports > mostReports) return true;
    const minBusyShare = reports > 0 ? stall.minBusyShareAfterMissedTimer : stall.minBusyShare;
    // The demand of threads that have ended is missing from later samples.
    this.#busyInWindowMs += Math.max(0, demandMs - this.#lastDemandMs);
    this.#lastDemandMs = demandMs;
    if (this.#windowStartMs === undefined || this.#busyInWindowMs >= stall.windowMs * minBusyShare) {
      this.#windowStartMs = nowMs;
      this.#busyInWindowMs = 0;
    }
    return nowMs - this.#windowStartMs >= stall.windowMs;
  }
}

const sampleMs = 2_000;

/** Throws BootStalled once the machine of a process has stalled. Returns when the signal is aborted. */
export async function watchForStall(pid: number, consolePath: string, signal: AbortSignal): Promise<void> {
  const detector = new StallDetector();
  while (!signal.aborted) {
    const demandMs = await cpuDemandMs(pid);
    const console = await readLogTail(consolePath);
    if (demandMs !== undefined && detector.isStalled(performance.now(), demandMs, console)) {
      throw new BootStalled('The kernel of the machine stopped making progress before the machine was ready');
    }
    await wait(sampleMs, undefined, { signal }).catch(() => {});
  }
}

/**
 * The CPU time that the threads of a process have used or waited for on a run queue, so that a process that gets no CPU does not look idle.
 * Undefined when the kernel does not tell or the process is gone.
 */
export async function cpuDemandMs(pid: number): Promise<number | undefined> {
  try {
    const threads = await readdir(`/proc/${pid}/task`);
    const stats = await Promise.all(
      threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0 0')),
    );
    const demandNs = stats.flatMap((text) => text.split(' ').slice(0, 2).map(Number));
    return demandNs.reduce((sum, ns) => sum + ns, 0) / 1e6;
  } catch {
    return undefined;
  }
}
