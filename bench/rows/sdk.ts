import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Mayfly } from '@mayfly/sdk';
import type { BenchHost } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';

const rounds = 9;
const run = promisify(execFile);

async function bySdk(bench: BenchHost): Promise<number> {
  const mayfly = new Mayfly({ baseUrl: bench.url, apiKey: bench.key });
  const { ms, result } = await timed(async () => {
    const sandbox = await mayfly.sandboxes.create();
    const { promise: printed, resolve } = Promise.withResolvers<void>();
    const ended = sandbox.exec('echo hi', { onStdout: () => resolve() });
    await printed;
    return { sandbox, ended };
  });
  await result.ended;
  await result.sandbox.delete();
  return ms;
}

async function byCurl(bench: BenchHost): Promise<number> {
  const curl = async (path: string, body: object) => {
    const headers = ['-H', `Authorization: Bearer ${bench.key}`, '-H', 'Content-Type: application/json'];
    const { stdout } = await run('curl', ['-sS', '--fail', ...headers, '-d', JSON.stringify(body), bench.url + path]);
    return JSON.parse(stdout) as { id: string };
  };
  const { ms, result } = await timed(async () => {
    const { id } = await curl('/v1/sandboxes', {});
    await curl(`/v1/sandboxes/${id}/exec`, { command: 'echo hi' });
    return id;
  });
  await bench.call('DELETE', `/sandboxes/${result}`, 200);
  return ms;
}

/** From nothing to the first output of a command with the SDK, compared with two calls of curl. */
export async function sdkRow(bench: BenchHost): Promise<Row> {
  const medians = await alternate(
    rounds,
    () => bySdk(bench),
    () => byCurl(bench),
  );
  return { name: 'SDK: create to first output', baseline: 'the same by curl', target: 1.1, ...medians };
}
