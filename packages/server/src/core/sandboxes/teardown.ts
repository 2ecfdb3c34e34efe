import type { Core } from '../context.ts';
import { oneLine } from '../errors/one-line.ts';
import { advance } from '../lifecycle/advance.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';

/**
 * Takes a sandbox's machine away; one that was `deleting` is `deleted` then. Fails if the machine would not go, or nobody could be told;
 * it is tried again in the background until it has succeeded.
 */
export async function teardown(core: Core, sandbox: SandboxRecord): Promise<SandboxRecord> {
  try {
    return await attemptTeardown(core, sandbox);
  } catch (error) {
    core.teardowns.tryLater(sandbox.id, () => core.background.track(attemptTeardown(core, sandbox)));
    throw error;
  }
}

/** One try. */
async function attemptTeardown(core: Core, sandbox: SandboxRecord): Promise<SandboxRecord> {
  const ids = { sandbox_id: sandbox.id, account_id: sandbox.accountId };
  try {
    await core.machines.destroy(sandbox.id);
    const { sandbox: gone, changed } = await advance(core, sandbox, { kind: 'machine_gone' });
    if (changed) core.log.info({ ...ids, reason: gone.statusReason }, 'sandbox_deleted');
    return gone;
  } catch (error) {
    core.log.error({ ...ids, err: error, reason: oneLine(error) }, 'teardown_failed');
    core.metrics.teardownFailed();
    throw error;
  }
}
