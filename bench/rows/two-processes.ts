import { join } from 'node:path';
import { startGreeting } from '#server-test/supervisor/start-supervised.ts';
import { type BenchHost, benchSettings, callerOf } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';

const creates = 15;
const commands = 100;
const baseline = 'service and driver in one process';
const script = join(import.meta.dirname, '../support/run-in-one-process.ts');

type Call = BenchHost['call'];

async function create(call: Call): Promise<number> {
  const { ms, result } = await timed(() => call('POST', '/sandboxes', 201));
  await call('DELETE', `/sandboxes/${(result as { id: string }).id}`, 200);
  return ms;
}

async function startSandbox(call: Call) {
  const { id } = (await call('POST', '/sandboxes', 201)) as { id: string };
  return {
    run: async () => (await timed(() => call('POST', `/sandboxes/${id}/exec`, 200, { command: 'true' }))).ms,
    delete: () => call('DELETE', `/sandboxes/${id}`, 200),
  };
}

/** What the separation of service and host process costs: the same requests to a service that runs its machines itself. */
export async function twoProcessRows({ host, folder, call }: BenchHost): Promise<Row[]> {
  const settings = { ...benchSettings, MAYFLY_DATA_DIR: join(folder, 'one-process') };
  const together = await startGreeting(script, host, settings);
  try {
    const callTogether = callerOf(together);
    await alternate(
      1,
      () => create(call),
      () => create(callTogether),
    );
    const created = await alternate(
      creates,
      () => create(call),
      () => create(callTogether),
    );
    const [apart, joined] = [await startSandbox(call), await startSandbox(callTogether)];
    await alternate(5, apart.run, joined.run);
    const ran = await alternate(commands, apart.run, joined.run);
    await Promise.all([apart.delete(), joined.delete()]);
    return [
      { name: 'create small, service and host process apart', baseline, target: 1.05, ...created },
      { name: 'exec true, service and host process apart', baseline, target: 1.05, ...ran },
    ];
  } finally {
    await together.end('SIGINT');
  }
}
