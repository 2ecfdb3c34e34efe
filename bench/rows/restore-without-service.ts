import type { SizeName } from '@mayfly/contract';
import type { BenchHost } from '../support/bench-host.ts';
import { timed } from '../support/measure.ts';

const attachMs = 60_000;
let bareMachines = 0;

/** Restores a template without a service, up to the agent's first answer. Returns the milliseconds it took. */
export async function restoreWithoutService(bench: BenchHost, size: SizeName): Promise<number> {
  bareMachines += 1;
  const { ms, result } = await timed(async () => {
    const machine = await bench.driver.launch({ id: `bare-${bareMachines}`, size });
    const agent = await bench.connector.attach(machine, attachMs);
    return { machine, agent };
  });
  result.agent.close();
  await result.machine.destroy();
  return ms;
}
