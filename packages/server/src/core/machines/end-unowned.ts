import type { Core } from '../context.ts';
import type { Machine } from '../ports/machine-driver.ts';

type Parts = Pick<Core, 'teardowns' | 'background' | 'log' | 'metrics'>;

/** Ends a machine that serves no sandbox. One that would not go is tried again until it does; never fails. */
export async function endUnowned(core: Parts, machine: Pick<Machine, 'id' | 'destroy'>): Promise<void> {
  const attempt = async (): Promise<void> => {
    try {
      await core.background.track(machine.destroy());
    } catch (err) {
      core.log.error({ machine_id: machine.id, err }, 'teardown_failed');
      core.metrics.teardownFailed();
      throw err;
    }
  };
  await attempt().catch(() => core.teardowns.tryLater(machine.id, attempt));
}
