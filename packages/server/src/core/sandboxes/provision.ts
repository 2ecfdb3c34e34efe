import { randomBytes } from 'node:crypto';
import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import { advance } from '../lifecycle/advance.ts';
import { expiryOf } from '../lifecycle/decide.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import { publicReason } from '../machines/public-reason.ts';
import type { GuestIdentity } from '../ports/guest-agent.ts';
import { HostFull, HostUnavailable, type Machine } from '../ports/machine-driver.ts';
import type { CreateResult } from '../ports/metrics.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { teardown, teardownByDeadline, watchMachine } from './end.ts';

/** Gives a `provisioning` sandbox its machine. Returns the running sandbox, or leaves nothing behind and throws 503. */
export async function provision(core: Core, sandbox: SandboxRecord, abort: AbortController): Promise<SandboxRecord> {
  const startedAtMs = performance.now();
  let pooled: LiveMachine | undefined;
  const report = (outcome: CreateResult): object => {
    const durationMs = performance.now() - startedAtMs;
    core.metrics.createEnded({ size: sandbox.size, outcome, pooled: pooled !== undefined, durationMs });
    return { provision_ms: Math.round(durationMs), pooled: pooled !== undefined };
  };
  try {
    pooled = await claimPooledMachine(core, sandbox);
    const { machine } = pooled ?? (await launchAndClaim(core, sandbox, abort));
    abort.signal.throwIfAborted();
    const ready = { kind: 'machine_ready', machineId: machine.id } as const;
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
    report(status === 'failed' ? 'failed' : 'called_off');
    const isHostRefusing = error instanceof HostUnavailable || error instanceof HostFull;
    const type = isHostRefusing ? 'capacity_unavailable' : 'provisioning_failed';
    const message = `The sandbox could not be provisioned: ${reasonOf(error)}. Try again.`;
    throw new ApiError(type, message, { cause: error });
  }
}

/** A machine from the pool, resumed and given its identity; undefined if there is none or it does not work. */
async function claimPooledMachine(core: Core, sandbox: SandboxRecord): Promise<LiveMachine | undefined> {
  const live = core.pool.claim(sandbox.size);
  if (live === undefined) return undefined;
  core.machines.assign(sandbox.id, live);
  try {
    await live.machine.resume();
    await live.claim(identityOf(core, sandbox));
    return live;
  } catch (err) {
    core.log.warn({ sandbox_id: sandbox.id, machine_id: live.machine.id, err }, 'pooled_machine_claim_failed');
    await core.machines.destroy(sandbox.id);
    return undefined;
  }
}

async function launchAndClaim(core: Core, sandbox: SandboxRecord, abort: AbortController): Promise<LiveMachine> {
  core.pool.evict(core.capacity.excess(core.pool.size));
  const live = core.machines.add(sandbox.id, await launch(core, sandbox, abort));
  await live.claim(identityOf(core, sandbox));
  return live;
}

function identityOf(core: Core, sandbox: SandboxRecord): GuestIdentity {
  return {
    hostname: sandbox.id.replaceAll('_', '-'),
    machineId: randomBytes(16).toString('hex'),
    expiresAtMs: expiryOf(sandbox, core.clock.nowMs(), core.limits),
  };
}

async function launch(core: Core, sandbox: SandboxRecord, abort: AbortController): Promise<Machine> {
  const { id, size } = sandbox;
  const destroyLate = (late: Machine): void => {
    core.machines.add(id, late);
    teardown(core, sandbox).catch(() => {});
  };
  try {
    return await core.launcher.launch({ id, size, signal: abort.signal }, 'create', destroyLate);
  } catch (error) {
    abort.abort(error);
    throw error;
  }
}

/** Marks the sandbox failed and tears its machine down, waiting for that no longer than the teardown deadline. */
async function failProvisioning(core: Core, sandbox: SandboxRecord, error: unknown): Promise<SandboxRecord> {
  const ids = { sandbox_id: sandbox.id, account_id: sandbox.accountId };
  core.log.error({ ...ids, err: error }, 'provisioning_failed');
  await teardownByDeadline(core, sandbox);
  const { sandbox: failed } = await advance(core, sandbox, { kind: 'provisioning_failed', reason: reasonOf(error) });
  return failed;
}

function reasonOf(error: unknown): string {
  return publicReason(error, 'the machine did not start');
}
