import type { SizeName } from '@mayfly/contract';
import { timed } from '../support/measure.ts';
import type { Stage } from '../support/stage.ts';

const attachMs = 60_000;
let bareMachines = 0;

/** A template restored without a service, up to the agent's first answer; how long that took, in milliseconds. */
export const restoreBare = async (stage: Stage, size: SizeName): Promise<number> => {
  bareMachines += 1;
  const { ms, result } = await timed(async () => {
    const machine = await stage.driver.launch({ id: `bare-${bareMachines}`, size });
    const agent = await stage.connector.attach(machine, attachMs);
    return { machine, agent };
  });
  result.agent.close();
  await result.machine.destroy();
  return ms;
};
