import { randomBytes } from 'node:crypto';
import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import { oneLine } from '../errors/one-line.ts';
import { advance } from '../lifecycle/advance.ts';
import { expiryOf } from '../lifecycle/decide.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import { restore } from '../pool/restore.ts';
import type { GuestIdentity } from '../ports/guest-agent.ts';
import type { Machine } from '../ports/machine-driver.ts';
import type { CreateResult } from '../ports/metrics.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { withDeadline } from '../scheduling/deadline.ts';
import { watchMachine } from './machine-died.ts';
import { teardown } from './teardown.ts';

/** Gives a `provisioning` sandbox its machine. It comes out `running`, or nothing is left and 503 is thrown. */
export async function provision(core: Core, sandbox: SandboxRecord, abort: AbortController): Promise<SandboxRecord> {
  const beganAtMs = performance.now();
  let pooled: LiveMachine | undefined;
  const ended = (outcome: CreateResult): object => {
    const took = { pooled: pooled !== undefined, durationMs: performance.now() - beganAtMs };
    core.metrics.createEnded({ size: sandbox.size, outcome, ...took });
    return { provision_ms: Math.round(took.durationMs), pooled: took.pooled };
  };
  try {
    pooled = await claimPooled(core, sandbox);
    const { machine } = pooled ?? (await launchAndClaim(core, sandbox, abort));
    abort.signal.throwIfAborted();
    const ready = { kind: 'machine_ready', machineId: machine.id } as const;
    const { sandbox: running, changed } = await advance(core, sandbox, ready);
    if (!changed) throw new Error(`it became ${running.status} while it was provisioning`);
    watchMachine(core, running, machine);
    const ids = { sandbox_id: running.id, account_id: running.accountId, machine_id: machine.id };
    core.log.info({ ...ids, size: running.size, ...ended('ready') }, 'sandbox_running');
    return running;
  } catch (error) {
    const { status } = await giveUp(core, sandbox, error);
    ended(status === 'failed' ? 'failed' : 'called_off');
    throw new ApiError('provisioning_failed', `the sandbox could not be provisioned: ${oneLine(error)}`, {
      cause: error,
    });
  }
}

/** A machine from the pool, resumed and told whose it is; undefined if there is none or it turns out to be dead. */
async function claimPooled(core: Core, sandbox: SandboxRecord): Promise<LiveMachine | undefined> {
  const live = core.pool.claim(sandbox.size);
  if (live === undefined) return undefined;
  core.machines.assign(sandbox.id, live);
  try {
    await live.machine.resume();
    await live.claim(identityOf(core, sandbox));
    return live;
  } catch (err) {
    core.log.warn({ sandbox_id: sandbox.id, machine_id: live.machine.id, err }, 'pooled_machine_unusable');
    await core.machines.destroy(sandbox.id);
    return undefined;
  }
}

async function launchAndClaim(core: Core, sandbox: SandboxRecord, abort: AbortController): Promise<LiveMachine> {
  core.pool.giveUp(core.capacity.excess(core.pool.size));
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
  const { launchMs } = core.deadlines;
  const { id, size } = sandbox;
  const { signal } = abort;
  const launching = restore(core, { id, size, signal }, 'create');
  try {
    return await withDeadline('the launch', launchMs, launching, {
      onLate: (late) => {
        core.machines.add(id, late);
        core.background.track(teardown(core, sandbox)).catch(() => {});
      },
    });
  } catch (error) {
    abort.abort(error);
    throw error;
  }
}

/** Marks it failed and takes its machine away, waiting no longer than a teardown may take; one that would not go is tried again by itself. */
async function giveUp(core: Core, sandbox: SandboxRecord, error: unknown): Promise<SandboxRecord> {
  const ids = { sandbox_id: sandbox.id, account_id: sandbox.accountId };
  core.log.error({ ...ids, err: error }, 'provisioning_failed');
  const gone = core.background.track(teardown(core, sandbox));
  await withDeadline('the teardown', core.deadlines.teardownMs, gone).catch(() => {});
  const { sandbox: kept } = await advance(core, sandbox, { kind: 'provisioning_failed', reason: oneLine(error) });
  return kept;
}
