import { randomBytes } from 'node:crypto';
import { withDeadline } from '../background/deadline.ts';
import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import { oneLine } from '../errors/one-line.ts';
import { advance } from '../lifecycle/advance.ts';
import { expiryOf } from '../lifecycle/decide.ts';
import type { Machine } from '../ports/machine-driver.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { watchMachine } from './machine-died.ts';
import { teardown } from './teardown.ts';

/** Gives a `provisioning` sandbox its machine. It comes out `running`, or nothing is left and 503 is thrown. */
export async function provision(core: Core, sandbox: SandboxRecord, abort: AbortController): Promise<SandboxRecord> {
  const beganAtMs = performance.now();
  try {
    const machine = await launch(core, sandbox, abort);
    const live = core.machines.add(sandbox.id, machine);
    await live.claim({
      hostname: sandbox.id.replaceAll('_', '-'),
      machineId: randomBytes(16).toString('hex'),
      expiresAtMs: expiryOf(sandbox, core.clock.nowMs(), core.limits),
    });
    const { sandbox: ready, changed } = await advance(core, sandbox, { kind: 'machine_ready' });
    if (!changed) throw new Error(`it became ${ready.status} while it was provisioning`);
    watchMachine(core, ready, machine);
    const took = { provision_ms: Math.round(performance.now() - beganAtMs) };
    core.log.info({ sandbox_id: ready.id, account_id: ready.accountId, size: ready.size, ...took }, 'sandbox_running');
    return ready;
  } catch (error) {
    await giveUp(core, sandbox, error);
    throw new ApiError('provisioning_failed', `the sandbox could not be provisioned: ${oneLine(error)}`, {
      cause: error,
    });
  }
}

async function launch(core: Core, sandbox: SandboxRecord, abort: AbortController): Promise<Machine> {
  const { launchMs } = core.deadlines;
  const launching = core.driver.launch({ id: sandbox.id, size: sandbox.size, signal: abort.signal });
  try {
    return await withDeadline('the launch', launchMs, launching, (late) => {
      core.machines.add(sandbox.id, late);
      core.background.track(teardown(core, sandbox)).catch(() => {});
    });
  } catch (error) {
    abort.abort(error);
    throw error;
  }
}

/** Marks it failed and takes its machine away, waiting no longer than a teardown may take; the sweep tries again. */
async function giveUp(core: Core, sandbox: SandboxRecord, error: unknown): Promise<void> {
  const ids = { sandbox_id: sandbox.id, account_id: sandbox.accountId };
  core.log.error({ ...ids, err: error }, 'provisioning_failed');
  await withDeadline(
    'the teardown',
    core.deadlines.teardownMs,
    core.background.track(core.machines.destroy(sandbox.id)),
  ).catch((err: unknown) => core.log.error({ ...ids, err }, 'teardown_failed'));
  await advance(core, sandbox, { kind: 'provisioning_failed', reason: oneLine(error) });
}
