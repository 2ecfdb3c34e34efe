import { readEvents } from '@mayfly/contract/testing';
import type { BenchHost } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';
import { keystrokeRow } from './keystrokes.ts';

const rounds = 40;
const largeRounds = 10;
const attachMs = 60_000;
const mib = 1024 ** 2;
const largeBytes = 8 * mib;
const print = `head -c ${largeBytes} output`;
const prepare = `yes 'a line of a build that prints a lot' | head -c ${largeBytes} > output`;

/** Starts a command and returns its open stream. */
async function openStream(bench: BenchHost, id: string, command: string): Promise<Response> {
  const response = await fetch(`${bench.url}/v1/sandboxes/${id}/exec`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bench.key}` },
    body: JSON.stringify({ command, stream: true }),
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

/** Until the first output has arrived, without the rest. */
async function firstByteMs(bench: BenchHost, id: string): Promise<number> {
  const startedMs = performance.now();
  let firstMs = 0;
  for await (const { event } of readEvents(await openStream(bench, id, 'echo first'))) {
    if (event === 'stdout') firstMs = performance.now() - startedMs;
  }
  return firstMs;
}

/** Streams and terminals through the API: the first byte compared with a whole command, and 8 MiB compared with reading them directly from an agent. */
export async function liveRows(bench: BenchHost): Promise<Row[]> {
  const { id } = (await bench.call('POST', '/sandboxes', 201)) as { id: string };
  const machine = await bench.driver.launch({ id: 'live', size: 'small' });
  const agent = await bench.connector.attach(machine, attachMs);
  const request = {
    cwd: '/workspace',
    env: {},
    timeoutMs: 60_000,
    captureBytes: mib,
    spoolBytes: 64 * mib,
    stdin: false,
  };
  let runs = 0;
  const directly = async (): Promise<number> => {
    runs += 1;
    const live = { id: `exec_live${runs}`, command: print, ...request };
    const { ms, result } = await timed(async () => {
      let bytes = 0;
      for await (const part of await agent.startLive(live)) bytes += 'bytes' in part ? part.bytes.length : 0;
      return bytes;
    });
    if (result !== largeBytes) throw new Error(`${result} bytes`);
    return ms;
  };
  const whole = async () =>
    (await timed(() => bench.call('POST', `/sandboxes/${id}/exec`, 200, { command: 'echo first' }))).ms;
  /** A client with as little overhead as possible: it only counts bytes. */
  const streamed = async () =>
    (await timed(async () => void (await (await openStream(bench, id, print)).arrayBuffer()))).ms;
  try {
    await bench.call('POST', `/sandboxes/${id}/exec`, 200, { command: prepare });
    await agent.execute({ id: 'exec_prepare', command: prepare, ...request });
    await alternate(5, () => firstByteMs(bench, id), whole);
    const first = await alternate(rounds, () => firstByteMs(bench, id), whole);
    await alternate(1, streamed, directly);
    const large = await alternate(largeRounds, streamed, directly);
    return [
      { name: 'first byte of a stream', baseline: 'exec of the same command', target: 1.2, ...first },
      { name: 'stream 8 MiB', baseline: 'directly from the agent', target: 1.5, ...large },
      await keystrokeRow(bench, id, agent),
    ];
  } finally {
    agent.close();
    await machine.destroy();
    await bench.call('DELETE', `/sandboxes/${id}`, 200);
  }
}
