import type { Core } from '../context.ts';

/** Lets the agent drop what is on disk now. Nothing depends on it: the agent drops its oldest results by itself. */
export async function forget(core: Core, id: string, sandboxId: string): Promise<void> {
  try {
    const agent = await core.machines.get(sandboxId).agent();
    await agent.forgetExecution(id);
  } catch (err) {
    core.log.debug({ execution_id: id, sandbox_id: sandboxId, err }, 'forget_failed');
  }
}
