import type { Launcher } from '../machines/launcher.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import type { Teardowns } from '../machines/teardowns.ts';
import { machineDeadlines } from '../ports/machine-deadlines.ts';
import type { Machine } from '../ports/machine-driver.ts';
import type { Ids } from '../ports/runtime.ts';
import type { MachineSource } from './pool.ts';

/** What making a machine for the pool needs. */
export interface PooledMachineNeeds {
  readonly ids: Ids;
  readonly launcher: Launcher;
  readonly machines: MachineRegistry;
  readonly teardowns: Teardowns;
}

/** Makes a machine for the pool: launched, its agent attached, warmed up, and paused. */
export async function makePooledMachine(
  core: PooledMachineNeeds,
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
    timeoutMs: machineDeadlines.pool.warmUpMs,
    captureBytes: 1_024,
  };
  await live.whileAlive(agent.execute(request));
  await agent.forgetExecution(request.id);
}
