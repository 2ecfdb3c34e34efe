import type { Capacity } from '../admission/capacity.ts';
import { ApiError } from '../errors/api-error.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import { publicReason } from '../machines/public-reason.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { HostFull, HostUnavailable, type SaveResult } from '../ports/machine-driver.ts';
import type { Metrics } from '../ports/metrics.ts';
import { withDeadline } from '../scheduling/deadline.ts';
import type { FairQueue } from '../scheduling/fair-queue.ts';
import type { KeyedLock } from '../scheduling/keyed-lock.ts';
import { type DeleteFilesNeeds, deleteFilesLater } from './remove.ts';
import type { SaveInFlight, SavesInFlight } from './saves-in-flight.ts';

/** What admitting a save needs. */
export interface AdmitSaveNeeds {
  readonly capacity: Capacity;
  readonly savesInFlight: SavesInFlight;
}

/** What admitting a save and saving a machine needs. */
export interface SaveNeeds extends AdmitSaveNeeds, DeleteFilesNeeds {
  readonly machines: MachineRegistry;
  /** Work that a machine does one at a time, such as being saved or replaced, by the id of its sandbox. */
  readonly machineLocks: KeyedLock;
  readonly turns: { readonly saves: FairQueue };
  readonly deadlines: { readonly saveMs: number };
  readonly metrics: Metrics;
}

interface SaveRequest {
  readonly snapshotId: string;
  readonly sandboxId: string;
  readonly accountId: string;
}

/**
 * Saves the machine of a sandbox, after what else is being done with that machine, and when it is the turn of the account. After the deadline, a save
 * that has not started never starts, and what one that has started stores later is deleted; nothing else is done with the machine until it has ended. The
 * guest's clock is set afterwards, in the background.
 */
export async function saveMachine(
  core: SaveNeeds,
  { snapshotId, sandboxId, accountId }: SaveRequest,
): Promise<SaveResult> {
  const abandoned = new AbortController();
  const { signal } = abandoned;
  const saved = core.machineLocks.run(sandboxId, async () => {
    signal.throwIfAborted();
    const live = core.machines.get(sandboxId);
    const save = async () => {
      try {
        const result = await live.machine.save(snapshotId);
        core.metrics.machineSaved(live.machine.size, result.pausedMs);
        if (signal.aborted) deleteFilesLater(core, snapshotId);
        return result;
      } finally {
        void core.background.track(setClock(core, sandboxId, live));
      }
    };
    return await live.whileAlive(core.turns.saves.run(accountId, save, signal));
  });
  try {
    return await withDeadline('the save', core.deadlines.saveMs, saved);
  } catch (error) {
    abandoned.abort(error);
    throw error;
  }
}

/** Sets the clock of a machine that was paused, unless the machine is gone. Its virtual clock stood still during the pause. Never rejects. */
async function setClock(core: SaveNeeds, sandboxId: string, live: LiveMachine): Promise<void> {
  if (live.isLost) return;
  try {
    const agent = await live.agent();
    await live.whileAlive(agent.setClock());
  } catch (err) {
    if (!live.isLost) core.log.warn({ sandbox_id: sandboxId, machine_id: live.id, err }, 'clock_update_failed');
  }
}

/** The disk space that a save of the sandbox may need: what its machine holds in memory. Zero if that is unknown. */
export async function expectedBytes(core: SaveNeeds, sandboxId: string): Promise<number> {
  const live = core.machines.find(sandboxId);
  if (live === undefined) return 0;
  return await live.machine.usage().then(
    ({ memoryBytes }) => memoryBytes,
    () => 0,
  );
}

/** The 503 for a host with too little disk for a save; undefined if it is admitted. May be asked more than once for the same save. */
export function admitSave(core: AdmitSaveNeeds, save: SaveInFlight): ApiError | undefined {
  if (save.admitted) return undefined;
  const refusal = core.capacity.refusalForSnapshot(save.neededBytes + core.savesInFlight.admittedBytes());
  save.admitted = refusal === undefined;
  return refusal;
}

/** The 503 for a machine that could not be saved. Its message is the reason, as part of a sentence. */
export function saveFailure(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const cause = { cause: error };
  if (error instanceof HostFull) {
    return new ApiError('capacity_unavailable', 'the host has too little free disk for a snapshot', cause);
  }
  if (error instanceof HostUnavailable) {
    return new ApiError('capacity_unavailable', 'machines cannot be saved at the moment', cause);
  }
  return new ApiError('provisioning_failed', publicReason(error, 'the machine could not be saved'), cause);
}
