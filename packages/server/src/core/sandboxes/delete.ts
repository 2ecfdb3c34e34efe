import type { Core } from '../context.ts';
import { notFound } from '../errors/api-error.ts';
import { advance } from '../lifecycle/advance.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { withDeadline } from '../scheduling/deadline.ts';
import { getSandbox } from './get.ts';
import { teardown } from './teardown.ts';

/** Ends a sandbox. It comes back `deleted`, or `deleting` when its machine takes longer to go; that goes on by itself. */
export async function deleteSandbox(core: Core, account: AccountRecord, id: string): Promise<SandboxRecord> {
  const found = await getSandbox(core, account, id);
  const { sandbox, before, changed } = await advance(core, found, { kind: 'delete_requested' });
  if (sandbox.status === 'deleted' && !changed) throw notFound('sandbox');
  if (before === 'provisioning') core.creations.callOff(id);
  if (before !== 'running') return sandbox;
  try {
    return await withDeadline(
      'the teardown',
      core.deadlines.teardownMs,
      core.background.track(teardown(core, sandbox)),
    );
  } catch (err) {
    core.log.warn({ sandbox_id: id, account_id: account.id, err }, 'teardown_goes_on');
    return sandbox;
  }
}
