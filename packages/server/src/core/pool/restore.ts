import type { Core } from '../context.ts';
import type { LaunchRequest, Machine } from '../ports/machine-driver.ts';

/** Restores a machine once there is a place for it; somebody's create goes before the pool's own. */
export function restore(
  core: Pick<Core, 'driver' | 'restores' | 'metrics'>,
  request: LaunchRequest,
  purpose: 'create' | 'pool',
): Promise<Machine> {
  const launch = async (): Promise<Machine> => {
    const beganAtMs = performance.now();
    const ended = (outcome: 'ok' | 'failed') =>
      core.metrics.restoreEnded({ size: request.size, purpose, outcome, durationMs: performance.now() - beganAtMs });
    try {
      const machine = await core.driver.launch(request);
      ended('ok');
      return machine;
    } catch (error) {
      ended('failed');
      throw error;
    }
  };
  return core.restores.run(purpose === 'create', launch, request.signal);
}
