import type { Core } from '../context.ts';
import { advance } from '../lifecycle/advance.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { teardown } from './teardown.ts';

/** Destroys every sandbox whose time is up. One failure stops no other and is tried again by itself. One without a machine is not its business. */
export async function expireSandboxes(core: Core): Promise<void> {
  const expired = await core.store.sandboxes.expired(core.clock.nowMs());
  const served = expired.filter(({ id }) => core.machines.serves(id));
  await Promise.allSettled(served.map((sandbox) => expire(core, sandbox)));
}

async function expire(core: Core, sandbox: SandboxRecord): Promise<void> {
  const { sandbox: kept, changed } = await advance(core, sandbox, { kind: 'expiry_passed' });
  if (changed) await teardown(core, kept);
}
