import { randomBytes } from 'node:crypto';
import type { Capacity } from '../admission/capacity.ts';
import { ApiError } from '../errors/api-error.ts';
import { advance } from '../lifecycle/advance.ts';
import { expiryOf } from '../lifecycle/decide.ts';
import type { Launcher } from '../machines/launcher.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import { publicReason } from '../machines/public-reason.ts';
import type { Pool } from '../pool/pool.ts';
import type { GuestIdentity } from '../ports/guest-agent.ts';
import { HostFull, HostUnavailable, type Machine, SnapshotUnusable } from '../ports/machine-driver.ts';
import type { CreateResult } from '../ports/metrics.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { teardown, teardownByDeadline, type WatchMachineNeeds, watchMachine } from './end.ts';

/** What launching a machine for a sandbox needs: it may take the room of machines in the pool. */
export interface LaunchNeeds {
  readonly capacity: Capacity;
  readonly pool: Pool;
  readonly launcher: Launcher;
}

/** What giving a sandbox its machine needs. */
export interface ProvisionNeeds extends WatchMachineNeeds, LaunchNeeds {}

/** A save that a sandbox is copied from. */
export interface SavedOrigin {
  /** When the save got in line, in unix milliseconds: the saves of a machine are made in this order. */
  readonly copiedAtMs: number;
}

export interface ProvisionOptions {
  /** Cancels the launch and everything after it. */
  readonly abort: AbortController;
  /** The snapshot that the machine is restored from; the template of the sandbox's size when absent. */
  readonly snapshotId?: string | undefined;
  /** The save that the launch waits for. A rejection fails the sandbox. */
  readonly prepared?: Promise<SavedOrigin>;
}

/** Gives a `provisioning` sandbox its machine. Returns the running sandbox, or leaves nothing behind and throws 503. */
export async function provision(
  core: ProvisionNeeds,
  sandbox: SandboxRecord,
  { abort, snapshotId, prepared }: ProvisionOptions,
): Promise<SandboxRecord> {
  let startedAtMs = performance.now();
  let pooled: LiveMachine | undefined;
  let origin: SavedOrigin | undefined;
  const report = (outcome: CreateResult): object => {
    const durationMs = performance.now() - startedAtMs;
    core.metrics.createEnded({ size: sandbox.size, outcome, pooled: pooled !== undefined, durationMs });
    return { provision_ms: Math.round(durationMs), pooled: pooled !== undefined };
  };
  try {
    if (prepared !== undefined) {
      origin = await unlessAborted(abort.signal, prepared);
      startedAtMs = performance.now();
    }
    pooled = await claimPooledMachine(core, sandbox, snapshotId);
    const { machine } = pooled ?? (await launchAndClaim(core, sandbox, snapshotId, abort));
    abort.signal.throwIfAborted();
    const ready = { kind: 'machine_ready', machineId: machine.id, ...origin } as const;
    const { sandbox: running, changed } = await advance(core, sandbox, ready);
    if (!changed) {
      throw new ApiError('provisioning_failed', `the sandbox became ${running.status} while it was provisioning`);
    }
    watchMachine(core, running, machine);
    const ids = { sandbox_id: running.id, account_id: running.accountId, machine_id: machine.id };
    core.log.info({ ...ids, size: running.size, ...report('ready') }, 'sandbox_created');
    return running;
  } catch (error) {
    const { status } = await failProvisioning(core, sandbox, error);
    report(status === 'failed' ? 'failed' : 'cancelled');
    throw launchFailure(error, 'The sandbox could not be provisioned');
  }
}

/** The 503 for a machine that could not be launched: what could not be done, why, what holds now, and what to do. An unusable snapshot stays unusable. */
export function launchFailure(error: unknown, what: string, state = ''): ApiError {
  const isHostRefusing = error instanceof HostUnavailable || error instanceof HostFull;
  const refused = isHostRefusing ? 'capacity_unavailable' : 'provisioning_failed';
  const type = error instanceof ApiError ? error.type : refused;
  const advice = error instanceof SnapshotUnusable ? '' : 'Try again.';
  const message = [`${what}: ${reasonOf(error)}.`, state, advice].filter((sentence) => sentence !== '').join(' ');
  return new ApiError(type, message, { cause: error });
}

/** The result of the work, or a rejection as soon as the signal aborts. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** A machine from the pool, resumed and given its identity; undefined if there is none or it does not work. */
async function claimPooledMachine(
  core: ProvisionNeeds,
  sandbox: SandboxRecord,
  snapshotId: string | undefined,
): Promise<LiveMachine | undefined> {
  const live = core.pool.claim({ size: sandbox.size, snapshotId });
  if (live === undefined) return undefined;
  core.machines.assign(sandbox.id, live);
  try {
    await live.machine.resume();
    await live.claim(newIdentity(core, sandbox));
    return live;
  } catch (err) {
    core.log.warn({ sandbox_id: sandbox.id, machine_id: live.machine.id, err }, 'pooled_machine_claim_failed');
    await core.machines.destroy(sandbox.id);
    return undefined;
  }
}

async function launchAndClaim(
  core: ProvisionNeeds,
  sandbox: SandboxRecord,
  snapshotId: string | undefined,
  abort: AbortController,
): Promise<LiveMachine> {
  core.pool.evict(core.capacity.excess(core.pool.size));
  const live = core.machines.add(sandbox.id, await launch(core, sandbox, snapshotId, abort));
  await live.claim(newIdentity(core, sandbox));
  return live;
}

function newIdentity(core: ProvisionNeeds, sandbox: SandboxRecord): GuestIdentity {
  return identityOf(sandbox, expiryOf(sandbox, core.clock.nowMs(), core.limits));
}

/** The identity of a machine that serves the sandbox. No two machines have the same machine id. */
export function identityOf({ id }: Pick<SandboxRecord, 'id'>, expiresAtMs: number): GuestIdentity {
  return { hostname: id.replaceAll('_', '-'), machineId: randomBytes(16).toString('hex'), expiresAtMs };
}

async function launch(
  core: ProvisionNeeds,
  sandbox: SandboxRecord,
  snapshotId: string | undefined,
  abort: AbortController,
): Promise<Machine> {
  const { id, size } = sandbox;
  const destroyLate = (late: Machine): void => {
    core.machines.add(id, late);
    teardown(core, sandbox).catch(() => {});
  };
  try {
    return await core.launcher.launch({ id, size, snapshotId, signal: abort.signal }, 'create', destroyLate);
  } catch (error) {
    abort.abort(error);
    throw error;
  }
}

/** Marks the sandbox failed and tears its machine down, waiting for that no longer than the teardown deadline. */
async function failProvisioning(core: ProvisionNeeds, sandbox: SandboxRecord, error: unknown): Promise<SandboxRecord> {
  const ids = { sandbox_id: sandbox.id, account_id: sandbox.accountId };
  core.log.error({ ...ids, err: error }, 'provisioning_failed');
  await teardownByDeadline(core, sandbox);
  const { sandbox: failed } = await advance(core, sandbox, { kind: 'provisioning_failed', reason: reasonOf(error) });
  return failed;
}

function reasonOf(error: unknown): string {
  return publicReason(error, 'the machine did not start');
}
