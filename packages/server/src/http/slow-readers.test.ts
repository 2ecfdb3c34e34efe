import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';
import { resultOf } from '../../test/core/stub-guest.ts';
import { NoRoom } from '../core/ports/guest-agent.ts';
import { defaultReadingLimits, observe, type Progress, type ReadingLimits } from './slow-readers.ts';

const mib = 1024 ** 2;
const limits = defaultReadingLimits;

/** What becomes of a connection that accepts these bytes in these seconds. */
function observed(...steps: readonly (readonly [seconds: number, acceptedBytes: number])[]): 'kept' | 'cut' {
  let progress: Progress | undefined;
  for (const [seconds, acceptedBytes] of steps) {
    const next = observe(limits, progress, { acceptedBytes, atMs: seconds * 1_000 });
    if (next === 'cut') return 'cut';
    progress = next;
  }
  return 'kept';
}

describe('a connection', () => {
  test('is cut once it has accepted nothing for a minute', () => {
    expect(observed([0, 100], [30, 100], [59, 100])).toBe('kept');
    expect(observed([0, 100], [30, 100], [60, 100])).toBe('cut');
    expect(observed([0, 100], [59, 101], [118, 101])).toBe('kept');
  });

  test('is cut if it accepts a byte now and then', () => {
    const trickle = Array.from({ length: 12 }, (_, at) => [at * 30, 100 + at] as const);
    expect(observed(...trickle)).toBe('cut');
    const slowLine = Array.from({ length: 100 }, (_, at) => [at * 30, at * 30 * 5_000] as const);
    expect(observed(...slowLine)).toBe('kept');
    const tooSlowLine = Array.from({ length: 100 }, (_, at) => [at * 30, at * 30 * 4_000] as const);
    expect(observed(...tooSlowLine)).toBe('cut');
  });
});

describe('a service whose clients do not read', { timeout: 120_000 }, () => {
  let service: Awaited<ReturnType<typeof stubService>>;
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await service[Symbol.asyncDispose]();
  });

  let commands = 0;
  const output = { stdout: Buffer.alloc(mib), stderr: Buffer.alloc(mib) };
  /** A command with 2 MiB of NULs as output, which asks for room as the real agent's connection does. */
  const printNuls: typeof service.connector.command = async ({ reserve }) => {
    commands += 1;
    if (reserve?.(2 * mib) === false) throw new NoRoom(2 * mib);
    return resultOf(output);
  };

  /** Sends a command and reads nothing of its response. */
  async function neverRead(port: number, id: string): Promise<Socket> {
    const socket = connect(port, '127.0.0.1').pause();
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    const body = '{"command":"x"}';
    const head = `POST /v1/sandboxes/${id}/exec HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.key}`;
    socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    return socket;
  }

  async function start(reading: Partial<ReadingLimits>) {
    const budgets = { resultBytes: { perAccount: 8 * mib, total: 16 * mib, waitingPerAccount: 100 } };
    const settings = { MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '10000', MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '10000' };
    service = await stubService(undefined, settings, { reading, budgets });
    commands = 0;
    service.connector.command = printNuls;
    service.connector.resumed = async () => resultOf(output);
    const port = Number(new URL(await service.app.listen({ port: 0, host: '127.0.0.1' })).port);
    const { id } = (await service.call('POST', '/v1/sandboxes')).body;
    return { port, id };
  }

  test('holds a bounded number of bytes, keeps serving others, and cuts the stalled connections', async () => {
    const { port, id } = await start({ stallMs: 2_000 });
    const { resultBytes } = service.core.budgets;
    const beforeBytes = process.memoryUsage().rss;
    await Promise.all(Array.from({ length: 12 }, () => neverRead(port, id)));
    await vi.waitFor(() => expect(commands).toBe(12), { timeout: 60_000 });
    expect(resultBytes.heldBy('acct_test')).toBeLessThanOrEqual(8 * mib);
    const heldMib = Math.round((process.memoryUsage().rss - beforeBytes) / mib);
    // Small responses of the same account do not wait.
    service.connector.command = async () => resultOf({ stdout: Buffer.from('hi') });
    expect((await service.call('POST', `/v1/sandboxes/${id}/exec`, { command: 'true' })).body.stdout).toBe('hi');
    await vi.waitFor(() => expect([resultBytes.held, resultBytes.waiting]).toEqual([0, 0]), { timeout: 100_000 });
    const text = (await service.app.inject('/metrics')).body;
    const cut = Number(/^mayfly_slow_readers_cut_total (\d+)/m.exec(text)?.[1]);
    console.log(`12 unread responses of 12 MiB of JSON: ${heldMib} MiB more memory, ${cut} connections cut`);
    expect(cut).toBe(12);
  });

  test('a response that is read slowly arrives complete', async () => {
    const { port, id } = await start({ stallMs: 60_000 });
    const socket = await neverRead(port, id);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      socket.pause();
      setImmediate(() => socket.resume());
    });
    socket.resume();
    await vi.waitFor(() => expect(chunks.at(-1)?.toString('latin1').endsWith('0\r\n\r\n')).toBe(true), {
      timeout: 100_000,
    });
    const text = Buffer.concat(chunks).toString('latin1');
    expect(text.split('\\u0000').length - 1).toBe(2 * mib);
    expect(service.core.budgets.resultBytes.held).toBe(0);
  });

  test('a client that leaves before its result releases what was held for it', async () => {
    const { port, id } = await start({});
    const { promise, resolve } = Promise.withResolvers<void>();
    service.connector.command = async (request) => {
      await promise;
      return printNuls(request);
    };
    const socket = await neverRead(port, id);
    await vi.waitFor(() => expect(service.core.executionsInFlight.count).toBe(1));
    socket.destroy();
    resolve();
    await service.core.background.idle();
    await vi.waitFor(() => expect(service.core.budgets.resultBytes.held).toBe(0));
  });
});
