import { inTurns, timed } from '../support/measure.ts';
import type { Stage } from '../support/stage.ts';
import type { Row } from '../support/table.ts';

const rounds = 60;
const attachMs = 60_000;

/** Running `true` through the API against sending it straight to an agent, both warm. */
export const execRows = async (stage: Stage): Promise<Row[]> => {
  const { id } = (await stage.call('POST', '/sandboxes', 201)) as { id: string };
  const machine = await stage.driver.launch({ id: 'straight', size: 'small' });
  const agent = await stage.connector.attach(machine, attachMs);
  let straightRuns = 0;
  const straight = async (): Promise<number> => {
    straightRuns += 1;
    const request = { command: 'true', cwd: '/workspace', env: {}, timeoutMs: 60_000, captureBytes: 1024 ** 2 };
    const execution = `exec_straight${straightRuns}`;
    const { ms } = await timed(() => agent.execute({ id: execution, ...request }));
    await agent.forgetExecution(execution);
    return ms;
  };
  const throughApi = async (): Promise<number> =>
    (await timed(() => stage.call('POST', `/sandboxes/${id}/exec`, 200, { command: 'true' }))).ms;
  try {
    await inTurns(5, throughApi, straight);
    const medians = await inTurns(rounds, throughApi, straight);
    return [{ name: 'exec true', yardstick: 'straight to the agent', aim: 1.3, ...medians }];
  } finally {
    agent.close();
    await machine.destroy();
    await stage.call('DELETE', `/sandboxes/${id}`, 200);
  }
};
