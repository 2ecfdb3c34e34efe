import type { Core } from '../context.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import type { Machine } from '../ports/machine-driver.ts';
import type { MachineSource } from './pool.ts';

const warmUpTimeoutMs = 30_000;

/** Makes a machine for the pool: launched, its agent attached, warmed up, and paused. */
export async function makePooledMachine(
  core: Pick<Core, 'launcher' | 'machines' | 'teardowns' | 'ids'>,
  { size, snapshotId }: MachineSource,
  signal: AbortSignal,
): Promise<LiveMachine> {
  const id = core.ids.next('pool');
  const destroyLate = (late: Machine) => void core.teardowns.destroyOrphan(late);
  const machine = await core.launcher.launch({ id, size, snapshotId, signal }, 'pool', destroyLate);
  const live = core.machines.wrap(machine);
  // A stop does not wait for the warm-up.
  const destroy = () => void live.destroy().catch(() => {});
  signal.addEventListener('abort', destroy, { once: true });
  try {
    signal.throwIfAborted();
    await warmUp(live, id);
    await machine.pause();
    return live;
  } catch (error) {
    await core.teardowns.destroyOrphan(live);
    throw error;
  } finally {
    signal.removeEventListener('abort', destroy);
  }
}

/** Does what a claim and a first command will do. Under emulation the first time is several times slower than the next. */
async function warmUp(live: LiveMachine, id: string): Promise<void> {
  const agent = await live.agent();
  await live.whileAlive(agent.setIdentity({ hostname: 'pool', machineId: '0'.repeat(32), expiresAtMs: 0 }));
  const request = {
    id: `exec_${id}`,
    command: 'true',
    cwd: '/',
    env: {},
    timeoutMs: warmUpTimeoutMs,
    captureBytes: 1_024,
  };
  await live.whileAlive(agent.execute(request));
  await agent.forgetExecution(request.id);
}
