import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GuestAgent } from '#server/core/ports/guest-agent.ts';
import type { Load } from '../previews/load.ts';
import { visitFromOutside } from '../previews/outside.ts';
import { visitThroughChannel } from '../previews/through-channel.ts';
import type { BenchHost } from '../support/bench-host.ts';
import { alternateAll } from '../support/measure.ts';
import type { Row } from '../support/table.ts';

const rounds = 3;
const attachMs = 60_000;
const port = 3000;
const folder = join(import.meta.dirname, '../previews');
const files = ['server.ts', 'exchange.ts', 'load.ts', 'inside.ts'] as const;
const serve = `(node server.ts ${port} >/dev/null 2>&1 &) ; until ss -Hltn | grep -q ':${port} '; do sleep 0.1; done`;
const requests: Load = { kind: 'requests', together: 16, durationMs: 3_000 };
const warmUp: Load = { ...requests, durationMs: 1_500 };
const largeBytes = 100 * 1000 ** 2;

/** A preview of a server in a sandbox of the service. */
async function openSandbox(bench: BenchHost) {
  const { id } = (await bench.call('POST', '/sandboxes', 201)) as { id: string };
  const inside = async (command: string): Promise<string> => {
    const body = { command, timeout_ms: 300_000 };
    const { exit_code, stdout, stderr } = (await bench.call('POST', `/sandboxes/${id}/exec`, 200, body)) as {
      readonly exit_code: number;
      readonly stdout: string;
      readonly stderr: string;
    };
    if (exit_code !== 0) throw new Error(`${command}: ${stderr}`);
    return stdout;
  };
  for (const path of files) {
    const content = await readFile(join(folder, path), 'utf8');
    await bench.call('PUT', `/sandboxes/${id}/files`, 201, { path, content });
  }
  await inside(serve);
  const { url } = (await bench.call('POST', `/sandboxes/${id}/ports`, 201, { port })) as { url: string };
  return { id, url, inside };
}

/** The same server in a machine without a service. */
async function serveDirectly(agent: GuestAgent): Promise<void> {
  for (const path of files) await agent.writeFile(path, await readFile(join(folder, path)), 1024 ** 2);
  const request = { command: serve, cwd: '/workspace', env: {}, timeoutMs: 60_000, captureBytes: 1024 };
  const { exitCode } = await agent.execute({ id: 'exec_serve', ...request });
  if (exitCode !== 0) throw new Error('the server did not start');
}

/** Requests through the gateway, compared with the same requests inside the sandbox and over the bare channel to the agent. */
export async function previewRows(bench: BenchHost): Promise<Row[]> {
  const ca = bench.previewRoot;
  const { id, url, inside } = await openSandbox(bench);
  const machine = await bench.driver.launch({ id: 'channel', size: 'small' });
  const agent = await bench.connector.attach(machine, attachMs);
  const measure = async (name: string, load: Load): Promise<Row[]> => {
    const medians = await alternateAll(rounds, {
      inside: async () => Number(await inside(`node inside.ts ${port} '${JSON.stringify(load)}'`)),
      channel: () => visitThroughChannel(agent, port, load),
      http1: () => visitFromOutside({ url, ca, protocol: 'HTTP/1.1', load }),
      http2: () => visitFromOutside({ url, ca, protocol: 'HTTP/2', load }),
    });
    return (['http1', 'http2'] as const).flatMap((key) =>
      (['inside', 'channel'] as const).map((other) => ({
        name: `preview: ${name}, ${key === 'http1' ? 'HTTP/1.1' : 'HTTP/2'}`,
        measuredMs: medians[key],
        baseline: other === 'inside' ? 'inside, to localhost' : 'over the bare channel',
        baselineMs: medians[other],
      })),
    );
  };
  try {
    await serveDirectly(agent);
    await visitThroughChannel(agent, port, warmUp);
    await visitFromOutside({ url, ca, protocol: 'HTTP/1.1', load: warmUp });
    return [
      ...(await measure('a request of 16 at once', requests)),
      ...(await measure('100 MB down', { kind: 'down', bytes: largeBytes })),
      ...(await measure('100 MB up', { kind: 'up', bytes: largeBytes })),
    ];
  } finally {
    agent.close();
    await machine.destroy();
    await bench.call('DELETE', `/sandboxes/${id}`, 200);
  }
}
