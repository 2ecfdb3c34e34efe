import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import { DeadlineExceeded, withDeadline } from '../../../core/scheduling/deadline.ts';
import type { QmpEvent } from './messages.ts';
import type { QmpClient } from './qmp-client.ts';

type Monitor = Pick<QmpClient, 'execute' | 'onEvent' | 'closed'>;

export interface MemorySave {
  /** An existing file that QEMU may write. */
  readonly path: string;
  /** Runs when QEMU has opened the file, before much of it is written. */
  readonly afterOpen?: () => Promise<void>;
  /** Runs while the machine stands still, at the instant that is saved. */
  readonly atInstant: () => Promise<void>;
  /** Runs before a machine that changes its memory too fast is stopped. Without this call such a machine looks like a paused one. */
  readonly beforeStop?: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly deadlines?: SaveDeadlines;
}

interface SaveDeadlines {
  /** How long the memory is copied while the machine runs. A machine that changes it faster than it can be copied is stopped after that. */
  readonly convergeMs: number;
  /** How long a running machine may stand still. */
  readonly stoppedMs: number;
  /** How long everything may take. */
  readonly memoryMs: number;
}

/** The machine is stopped once the rest of its memory can be copied in about this time. */
const copyPauseMs = 100;

const { cancelMemoryMs, finalizeMs } = machineDeadlines.save;

/** How often QEMU is asked whether it has given up a save. */
const cancelPollMs = 20;

/** How often QEMU is asked whether it lets a machine go on after it was saved. Every poll delays the guest. */
const finalizePollMs = 2;

const migrationInfo = z.object({
  status: z.string().max(64).optional(),
  'error-desc': z.string().optional(),
});
const runState = z.object({ status: z.string().max(64), running: z.boolean() });

/** The end of a migration, whether it succeeded or not. */
const finalStatuses: readonly string[] = ['none', 'completed', 'failed', 'cancelled'];

/**
 * Writes the memory and the device state of one instant to a file while the machine runs, except for a short pause. Returns how long the virtual CPUs stood
 * still. The machine goes on afterwards, also when this fails; one that was paused stays paused.
 */
export async function saveMemory(qmp: Monitor, save: MemorySave): Promise<number> {
  const { path, afterOpen, atInstant, beforeStop, signal, deadlines = machineDeadlines.save } = save;
  signal.throwIfAborted();
  const { running } = runState.parse(await qmp.execute('query-status'));
  using watch = new MigrationWatch(qmp, signal);
  let endsAtMs = performance.now() + deadlines.memoryMs;
  const leftMs = (): number => Math.max(1, endsAtMs - performance.now());
  let isStopped = false;
  const noteStop = (): void => {
    if (running) endsAtMs = Math.min(endsAtMs, performance.now() + deadlines.stoppedMs);
    isStopped = running;
  };
  try {
    await prepare(qmp);
    await qmp.execute('migrate', { uri: `file:${path}` });
    await afterOpen?.();
    await withDeadline('copying the memory', deadlines.convergeMs, watch.until('pre-switchover')).catch(
      async (error: unknown) => {
        if (!(error instanceof DeadlineExceeded)) throw error;
        if (running) await beforeStop?.();
        noteStop();
        await qmp.execute('stop');
        await withDeadline('copying the memory', leftMs(), watch.until('pre-switchover'));
      },
    );
    noteStop();
    await withDeadline('saving the disk', leftMs(), atInstant());
    signal.throwIfAborted();
    await qmp.execute('migrate-continue', { state: 'pre-switchover' });
    await withDeadline('saving the devices', leftMs(), watch.until('completed'));
    await goOn(qmp, running);
    return watch.pausedMs();
  } catch (error) {
    const reason = await failureReason(qmp);
    await cancelSave(qmp, running);
    if (isStopped && error instanceof DeadlineExceeded) throw new Error(tooFast, { cause: error });
    if (signal.aborted || reason === undefined) throw error;
    throw new Error(`The memory could not be saved: ${reason}`, { cause: error });
  }
}

const tooFast =
  'The save was cancelled because the machine would have stood still for too long: it changes its memory faster than the disk can store it. Try again when it is less busy.';

async function prepare(qmp: Monitor): Promise<void> {
  const capabilities = [
    { capability: 'mapped-ram', state: true },
    { capability: 'pause-before-switchover', state: true },
    { capability: 'events', state: true },
    { capability: 'x-ignore-shared', state: false },
  ];
  await qmp.execute('migrate-set-capabilities', { capabilities });
  // As fast as the disk is: a limit would only make the guest change more meanwhile.
  await qmp.execute('migrate-set-parameters', { 'max-bandwidth': 10 ** 12, 'downtime-limit': copyPauseMs });
}

/**
 * Lets a machine run whose memory was saved. QEMU has given up its disk, and takes it back only by running: a machine that was paused runs for an
 * instant and is paused again.
 */
async function goOn(qmp: Monitor, wasRunning: boolean): Promise<void> {
  const endsAtMs = performance.now() + finalizeMs;
  for (;;) {
    try {
      await qmp.execute('cont');
      break;
    } catch (error) {
      // QEMU reports the end of a migration shortly before it accepts this, or lets the machine run itself. It may have become ready since.
      const { status, running } = runState.parse(await qmp.execute('query-status'));
      if (running) break;
      if (!hasGivenUpDisk(status) || performance.now() > endsAtMs) throw error;
      await delay(finalizePollMs);
    }
  }
  if (!wasRunning) await qmp.execute('stop');
}

async function failureReason(qmp: Monitor): Promise<string | undefined> {
  const answer = await qmp.execute('query-migrate').catch(() => undefined);
  const info = migrationInfo.safeParse(answer).data;
  return info?.status === 'failed' ? info['error-desc']?.slice(0, 300) : undefined;
}

/** Ends a save and lets the machine go on if it was running before. Does nothing once QEMU is gone. */
async function cancelSave(qmp: Monitor, wasRunning: boolean): Promise<void> {
  try {
    await cancelMigration(qmp);
    const { running, status } = runState.parse(await qmp.execute('query-status'));
    if (!running && (wasRunning || hasGivenUpDisk(status))) await goOn(qmp, wasRunning);
  } catch {
    // QEMU is gone, or will be asked again when the machine is adopted.
  }
}

/**
 * Cancels a save that an earlier process started, and resumes the machine if it was stopped for that. Once QEMU has ended the save itself, only the caller knows
 * whether the machine was stopped for it.
 */
export async function finishMigration(qmp: Monitor, wasStopped: boolean): Promise<void> {
  const wasActive = await cancelMigration(qmp);
  const { status } = runState.parse(await qmp.execute('query-status'));
  if (hasGivenUpDisk(status) || ((wasActive || wasStopped) && status === 'paused')) await goOn(qmp, true);
}

/** Cancels a migration in progress and waits until QEMU has ended it. False if there was none. */
async function cancelMigration(qmp: Monitor): Promise<boolean> {
  const isActive = async (): Promise<boolean> => {
    const { status = 'none' } = migrationInfo.parse(await qmp.execute('query-migrate'));
    return !finalStatuses.includes(status);
  };
  if (!(await isActive())) return false;
  await qmp.execute('migrate_cancel');
  const endsAtMs = performance.now() + cancelMemoryMs;
  while ((await isActive()) && performance.now() < endsAtMs) await delay(cancelPollMs);
  return true;
}

/** Whether QEMU takes its disk back only when the machine runs. */
function hasGivenUpDisk(status: string): boolean {
  return status === 'postmigrate' || status === 'finish-migrate';
}

const awaitedStatuses: readonly string[] = ['pre-switchover', 'completed'];

/** Follows the events of one migration. */
class MigrationWatch implements Disposable {
  readonly #stopListening: () => void;
  readonly #statuses = new Set<string>();
  readonly #signal: AbortSignal;
  #waiting: (() => void)[] = [];
  #failure: Error | undefined;
  #stoppedAtMs: number | undefined;
  #resumedAtMs: number | undefined;
  readonly #abort = (): void => this.#fail(new Error('The save was cancelled.'));

  constructor(qmp: Monitor, signal: AbortSignal) {
    this.#signal = signal;
    this.#stopListening = qmp.onEvent((event) => this.#note(event));
    void qmp.closed.then(() => this.#fail(new Error('QEMU exited during the save.')));
    signal.addEventListener('abort', this.#abort);
  }

  /** Resolves when the migration has reached a status. Rejects when it fails before that. */
  async until(status: string): Promise<void> {
    while (!this.#statuses.has(status)) {
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  /** How long the virtual CPUs stood still. */
  pausedMs(): number {
    const { stopped, resumed } = { stopped: this.#stoppedAtMs, resumed: this.#resumedAtMs };
    return stopped === undefined || resumed === undefined ? 0 : Math.max(0, Math.round(resumed - stopped));
  }

  [Symbol.dispose](): void {
    this.#stopListening();
    this.#signal.removeEventListener('abort', this.#abort);
  }

  #note(event: QmpEvent): void {
    if (event.event === 'STOP') this.#stoppedAtMs ??= timeOf(event);
    if (event.event === 'RESUME') this.#resumedAtMs ??= timeOf(event);
    if (event.event !== 'MIGRATION' || typeof event.data.status !== 'string') return;
    const { status } = event.data;
    if (awaitedStatuses.includes(status)) this.#statuses.add(status);
    if (status === 'failed' || status === 'cancelled') this.#fail(new Error(`The save of the memory ${status}.`));
    this.#wake();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function timeOf({ timestamp }: QmpEvent): number {
  return timestamp === undefined ? Date.now() : timestamp.seconds * 1_000 + timestamp.microseconds / 1_000;
}
