import type { Core } from '../context.ts';
import { advance } from '../lifecycle/advance.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { teardown } from './teardown.ts';

/** Destroys every sandbox whose time is up and tries again whatever would not go before. One failure stops no other. */
export async function expireSandboxes(core: Core): Promise<void> {
  const expired = await core.store.sandboxes.expired(core.clock.nowMs());
  await Promise.allSettled(expired.map((sandbox) => expire(core, sandbox)));
  await retryTeardowns(core);
}

async function expire(core: Core, sandbox: SandboxRecord): Promise<void> {
  const { sandbox: kept, changed } = await advance(core, sandbox, { kind: 'expiry_passed' });
  if (changed) await teardown(core, kept);
}

async function retryTeardowns(core: Core): Promise<void> {
  const deleting = await core.store.sandboxes.withStatus(['deleting']);
  const doomed = await Promise.all(core.machines.doomed().map((id) => core.store.sandboxes.read(id)));
  const waiting = new Map([...deleting, ...doomed].flatMap((sandbox) => (sandbox ? [[sandbox.id, sandbox]] : [])));
  const free = [...waiting.values()].filter((sandbox) => core.creations.outcomeOf(sandbox.id) === undefined);
  await Promise.allSettled(free.map((sandbox) => teardown(core, sandbox)));
}
