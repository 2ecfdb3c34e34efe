import { oneLine } from '../errors/api-error.ts';
import { advance } from '../lifecycle/advance.ts';
import type { LifecycleEvent } from '../lifecycle/decide.ts';
import type { MachineExit } from '../ports/machine-driver.ts';
import { openStatuses, type SandboxRecord } from '../ports/store/sandbox-store.ts';
import type { CreatesInFlight } from '../sandboxes/creates-in-flight.ts';
import { type ReplacementInFlight, type TeardownNeeds, teardownByDeadline } from '../sandboxes/end.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';
import type { KeyedLock } from '../scheduling/keyed-lock.ts';

/** What comparing sandboxes with their machines needs. */
export interface ReconcileNeeds extends TeardownNeeds {
  readonly background: BackgroundTasks;
  readonly createsInFlight: CreatesInFlight;
  readonly replacementsInFlight: ReadonlyMap<string, ReplacementInFlight>;
  /** Work that a machine does one at a time, such as being saved or replaced, by the id of its sandbox. */
  readonly machineLocks: KeyedLock;
}

/**
 * Repairs what a database outage left unfinished: a sandbox that is neither `running` nor ended and that no request works on, one that is
 * `running` without a machine, or one whose record names another machine than the one that serves it. One failure does not affect the others; the
 * next call retries it. A teardown in progress is left alone.
 */
export async function reconcile(core: ReconcileNeeds): Promise<void> {
  const open = await core.store.sandboxes.withStatus(openStatuses);
  const suspects = open.filter(({ id, status }) => status !== 'running' || !core.machines.serves(id));
  for (const sandbox of open) if (hasWrongMachine(core, sandbox)) correctInBackground(core, sandbox.id);
  await Promise.allSettled(suspects.map(({ id }) => reconcileSandbox(core, id)));
}

/** A rollback whose last write was stored although it failed leaves the record with the machine that was destroyed. */
function hasWrongMachine(core: ReconcileNeeds, { id, status, machineId }: SandboxRecord): boolean {
  return status === 'running' && core.machines.serves(id) && core.machines.find(id)?.id !== machineId;
}

/** Waits for a rollback in progress, which may be about to make the record right, without delaying anything else. */
function correctInBackground(core: ReconcileNeeds, sandboxId: string): void {
  const corrected = core.machineLocks.run(sandboxId, async () => {
    const sandbox = await core.store.sandboxes.read(sandboxId);
    const machineId = core.machines.find(sandboxId)?.id;
    if (sandbox === undefined || machineId === undefined || !hasWrongMachine(core, sandbox)) return;
    await advance(core, sandbox, { kind: 'machine_replaced', machineId });
    core.log.warn({ sandbox_id: sandboxId, account_id: sandbox.accountId, machine_id: machineId }, 'machine_corrected');
  });
  core.background
    .track(corrected)
    .catch((err: unknown) => core.log.error({ sandbox_id: sandboxId, err }, 'machine_correction_failed'));
}

async function reconcileSandbox(core: ReconcileNeeds, sandboxId: string): Promise<void> {
  if (core.createsInFlight.has(sandboxId) || core.teardowns.isRunning(sandboxId)) return;
  // Read again now that no create is in flight: no request changes it any more.
  const sandbox = await core.store.sandboxes.read(sandboxId);
  if (sandbox === undefined || (sandbox.status === 'running' && core.machines.serves(sandboxId))) return;
  // A rollback has stored the machine and is about to let it serve the sandbox.
  if (sandbox.machineId !== null && core.replacementsInFlight.has(sandbox.machineId)) return;
  const failed = await failSandbox(core, sandbox);
  if (failed.status !== 'running') await teardownByDeadline(core, failed);
}

/** Fails a sandbox that is not ended: its machine died, or its create could not record how it ended. It stays `running` if a rollback replaced that machine meanwhile. */
async function failSandbox(core: ReconcileNeeds, sandbox: SandboxRecord): Promise<SandboxRecord> {
  if (sandbox.status !== 'provisioning' && sandbox.status !== 'running') return sandbox;
  const exit = await unrequestedExit(core, sandbox.id);
  const event: LifecycleEvent =
    exit !== undefined && sandbox.status === 'running'
      ? {
          kind: 'machine_died',
          reason: oneLine(exit.reason),
          ...(sandbox.machineId !== null && { machineId: sandbox.machineId }),
        }
      : { kind: 'provisioning_failed', reason: 'its create was interrupted' };
  const { sandbox: failed, changed } = await advance(core, sandbox, event);
  const ids = { sandbox_id: failed.id, account_id: failed.accountId };
  if (changed) core.log.warn({ ...ids, reason: failed.statusReason }, 'sandbox_reconciled');
  return failed;
}

/** How the machine of a sandbox exited without having been asked to; undefined if it did not. */
async function unrequestedExit(core: ReconcileNeeds, sandboxId: string): Promise<MachineExit | undefined> {
  const live = core.machines.find(sandboxId);
  if (live === undefined) return undefined;
  const exit = await Promise.race([live.machine.exited, Promise.resolve(undefined)]);
  return exit?.requested === false ? exit : undefined;
}
