import type { RollbackSandboxBody } from '@mayfly/contract';
import { ApiError, notFound } from '../errors/api-error.ts';
import { advance } from '../lifecycle/advance.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import type { Machine } from '../ports/machine-driver.ts';
import type { Ids } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { type FailExecutionsNeeds, failAbandonedExecutions } from '../recovery/recover-executions.ts';
import {
  type ReplacementInFlight,
  teardownByDeadline,
  type WatchMachineNeeds,
  watchMachine,
} from '../sandboxes/end.ts';
import { type SendExpiryNeeds, sendExpiry } from '../sandboxes/extend.ts';
import { identityOf, type LaunchNeeds, launchFailure } from '../sandboxes/provision.ts';
import { getSandbox, requireRunning } from '../sandboxes/read.ts';
import { wasDeletedMeanwhile } from '../sandboxes/source.ts';
import { DeadlineExceeded } from '../scheduling/deadline.ts';
import type { KeyedLock } from '../scheduling/keyed-lock.ts';
import { type FindOfLineNeeds, findSnapshotOfLine } from './line.ts';

/** What rolling a sandbox back needs. */
export type RollbackNeeds = FindOfLineNeeds &
  LaunchNeeds &
  WatchMachineNeeds &
  SendExpiryNeeds &
  FailExecutionsNeeds & {
    readonly ids: Ids;
    /** Work that a machine does one at a time, such as being saved or replaced, by the id of its sandbox. */
    readonly machineLocks: KeyedLock;
    /** A rollback waits as long for a save of its machine as the save may take. */
    readonly deadlines: { readonly saveMs: number };
    /** By the id of the machine, until it serves its sandbox. */
    readonly replacementsInFlight: Map<string, ReplacementInFlight>;
  };

const what = 'The sandbox could not be rolled back';
const unchanged = 'It goes on as it was.';

/**
 * Puts a running sandbox back into the state of a snapshot: a new machine is restored from the snapshot and takes the place of the old one, which is
 * never asked for anything. Until the new machine is ready, the sandbox goes on. The rollback continues when its caller stops waiting.
 */
export async function rollbackSandbox(
  core: RollbackNeeds,
  account: AccountRecord,
  id: string,
  body: RollbackSandboxBody,
): Promise<SandboxRecord> {
  const found = await getSandbox(core, account, id);
  requireRunning(found);
  await findSnapshotOfLine(core, account, found, body.snapshot_id);
  const work = async () => {
    const sandbox = await getSandbox(core, account, id);
    requireRunning(sandbox);
    const snapshot = await findSnapshotOfLine(core, account, sandbox, body.snapshot_id);
    return await rollBack(core, account, sandbox, snapshot.id);
  };
  try {
    return await core.background.track(core.machineLocks.run(id, work, { waitMs: core.deadlines.saveMs }));
  } catch (error) {
    throw error instanceof DeadlineExceeded ? launchFailure(error, what, unchanged) : error;
  }
}

async function rollBack(
  core: RollbackNeeds,
  account: AccountRecord,
  sandbox: SandboxRecord,
  snapshotId: string,
): Promise<SandboxRecord> {
  const startedAtMs = performance.now();
  const refusal = core.capacity.refusalFor(sandbox.size);
  if (refusal !== undefined) throw refusal;
  const machineId = core.ids.next('roll');
  const abort = new AbortController();
  core.replacementsInFlight.set(machineId, { size: sandbox.size, abort });
  try {
    const current = core.machines.find(sandbox.id);
    if (current === undefined) throw machineGone();
    const next = await launchReplacement(core, sandbox, { machineId, snapshotId, abort });
    const rolledBack = await swap(core, account, sandbox, { current, next, snapshotId });
    const ids = { sandbox_id: sandbox.id, account_id: account.id, machine_id: machineId, snapshot_id: snapshotId };
    core.log.info({ ...ids, rollback_ms: Math.round(performance.now() - startedAtMs) }, 'sandbox_rolled_back');
    return rolledBack;
  } finally {
    core.replacementsInFlight.delete(machineId);
  }
}

interface LaunchOptions {
  readonly machineId: string;
  readonly snapshotId: string;
  readonly abort: AbortController;
}

/**
 * A machine restored from the snapshot, with the identity of the sandbox. If there is none, leaves nothing behind and throws 503, or 404 if the
 * snapshot was deleted meanwhile.
 */
async function launchReplacement(
  core: RollbackNeeds,
  { id, size, accountId, expiresAtMs }: SandboxRecord,
  { machineId, snapshotId, abort }: LaunchOptions,
): Promise<LiveMachine> {
  let live: LiveMachine | undefined;
  try {
    core.pool.evict(core.capacity.excess(core.pool.size));
    const request = { id: machineId, size, snapshotId, signal: abort.signal };
    const destroyLate = (late: Machine) => void core.teardowns.destroyOrphan(late);
    live = core.machines.wrap(await core.launcher.launch(request, 'create', destroyLate));
    abort.signal.throwIfAborted();
    await live.claim(identityOf({ id }, expiresAtMs ?? 0));
    return live;
  } catch (err) {
    abort.abort(err);
    core.log.error({ sandbox_id: id, account_id: accountId, snapshot_id: snapshotId, err }, 'rollback_failed');
    if (live !== undefined) await core.teardowns.destroyOrphan(live);
    if (await wasDeletedMeanwhile(core, accountId, snapshotId, err)) throw notFound('snapshot');
    throw launchFailure(err, what, unchanged);
  }
}

interface Replacement {
  readonly current: LiveMachine;
  readonly next: LiveMachine;
  readonly snapshotId: string;
}

/** Lets the new machine serve the sandbox and destroys the old one. If the sandbox ended meanwhile, the new one is destroyed instead. */
async function swap(
  core: RollbackNeeds,
  account: AccountRecord,
  sandbox: SandboxRecord,
  { current, next, snapshotId }: Replacement,
): Promise<SandboxRecord> {
  const { id } = sandbox;
  let replaced: SandboxRecord;
  try {
    replaced = await recordReplacement(core, sandbox, next.id);
    requireRunning(replaced);
  } catch (error) {
    await core.teardowns.destroyOrphan(next);
    throw error;
  }
  if (!core.machines.replace(id, current, next)) return await abandon(core, account, id, { current, next });
  current.retire(`the sandbox was rolled back to ${snapshotId}`);
  core.previewTraffic.disconnect(id);
  watchMachine(core, replaced, next.machine);
  destroyReplaced(core, sandbox, current);
  await failAbandonedExecutions(core, id);
  const latest = await core.store.sandboxes.read(id).catch(() => replaced);
  // An extend during the rollback may have told only the old machine.
  void core.background.track(sendExpiry(core, latest ?? replaced));
  if (latest === undefined || latest.status === 'running') return latest ?? replaced;
  // It ended after the replacement was recorded, and its teardown may have seen only the old machine.
  await teardownByDeadline(core, latest);
  requireRunning(latest);
  return latest;
}

/** Stores which machine serves the sandbox. Returns the record, which is not `running` if the sandbox ended. Rejects if nothing changed. */
async function recordReplacement(
  core: RollbackNeeds,
  sandbox: SandboxRecord,
  machineId: string,
): Promise<SandboxRecord> {
  try {
    return (await advance(core, sandbox, { kind: 'machine_replaced', machineId })).sandbox;
  } catch (error) {
    // The change may be stored although its confirmation was lost.
    const latest = await core.store.sandboxes.read(sandbox.id).catch(() => undefined);
    if (latest?.machineId === machineId) return latest;
    throw error;
  }
}

/** The old machine does not serve the sandbox any more: the sandbox ended, or the service stops and the next run adopts the new machine. */
async function abandon(
  core: RollbackNeeds,
  account: AccountRecord,
  id: string,
  { current, next }: Pick<Replacement, 'current' | 'next'>,
): Promise<SandboxRecord> {
  const latest = await getSandbox(core, account, id).catch(() => undefined);
  if (current.isDetached && (latest === undefined || latest.status === 'running')) {
    next.detach();
    throw new ApiError(
      'capacity_unavailable',
      'The service is stopping. The sandbox is rolled back at the next start.',
    );
  }
  await core.teardowns.destroyOrphan(next);
  if (latest !== undefined) requireRunning(latest);
  // It was evicted or deleted, and that is not stored yet.
  throw machineGone();
}

function machineGone(): ApiError {
  return new ApiError('provisioning_failed', `${what}: its machine is gone. Create a new sandbox from the snapshot.`);
}

/** Under a key of its own: the machine may have the id of the sandbox, whose later teardown must not cancel the retries. */
function destroyReplaced(core: RollbackNeeds, { id, accountId }: SandboxRecord, machine: LiveMachine): void {
  const ids = { sandbox_id: id, account_id: accountId, machine_id: machine.id };
  core.teardowns.run(`replaced ${machine.id}`, ids, () => machine.destroy()).catch(() => {});
}
