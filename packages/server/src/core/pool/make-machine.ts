import type { SizeName } from '@mayfly/contract';
import type { Core } from '../context.ts';
import { endUnowned } from '../machines/end-unowned.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import { withDeadline } from '../scheduling/deadline.ts';
import { restore } from './restore.ts';

const warmUpMs = 30_000;

type Parts = Pick<
  Core,
  'driver' | 'machines' | 'restores' | 'ids' | 'deadlines' | 'teardowns' | 'background' | 'log' | 'metrics'
>;

/** A machine that is nobody's yet: restored, its agent attached, what a first command needs already touched, and paused. */
export async function makePooledMachine(core: Parts, size: SizeName, signal: AbortSignal): Promise<LiveMachine> {
  const id = core.ids.next('pool');
  const launching = restore(core, { id, size, signal }, 'pool');
  const machine = await withDeadline('the launch', core.deadlines.launchMs, launching, {
    onLate: (late) => void endUnowned(core, late),
  });
  const live = core.machines.live(machine);
  // A stop does not wait for the warm-up.
  const end = () => void live.destroy().catch(() => {});
  signal.addEventListener('abort', end, { once: true });
  try {
    signal.throwIfAborted();
    await warmUp(live, id);
    await machine.pause();
    return live;
  } catch (error) {
    await endUnowned(core, live);
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Does once what a claim and a first command will do: under emulation the first time costs several times the next. */
async function warmUp(live: LiveMachine, id: string): Promise<void> {
  const agent = await live.agent();
  await live.whileAlive(agent.setIdentity({ hostname: 'pool', machineId: '0'.repeat(32), expiresAtMs: 0 }));
  const request = { id: `exec_${id}`, command: 'true', cwd: '/', env: {}, timeoutMs: warmUpMs, captureBytes: 1_024 };
  await live.whileAlive(agent.execute(request));
  await agent.forgetExecution(request.id);
}
