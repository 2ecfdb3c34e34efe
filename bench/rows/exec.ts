import type { BenchHost } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';

const rounds = 60;
const attachMs = 60_000;

/** Running `true` through the API, compared with sending it directly to an agent, both warm. */
export async function execRows(bench: BenchHost): Promise<Row[]> {
  const { id } = (await bench.call('POST', '/sandboxes', 201)) as { id: string };
  const machine = await bench.driver.launch({ id: 'straight', size: 'small' });
  const agent = await bench.connector.attach(machine, attachMs);
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
    (await timed(() => bench.call('POST', `/sandboxes/${id}/exec`, 200, { command: 'true' }))).ms;
  try {
    await alternate(5, throughApi, straight);
    const medians = await alternate(rounds, throughApi, straight);
    return [{ name: 'exec true', baseline: 'directly to the agent', target: 1.3, ...medians }];
  } finally {
    agent.close();
    await machine.destroy();
    await bench.call('DELETE', `/sandboxes/${id}`, 200);
  }
}
