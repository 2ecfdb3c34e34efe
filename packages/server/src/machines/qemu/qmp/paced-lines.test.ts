import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { LineSplitter } from '../../protocol/line-splitter.ts';
import { type LinePace, readLines } from './paced-lines.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Both ends of a connection over a unix socket. */
async function connected(): Promise<{ reader: Socket; sender: Socket }> {
  const folder = await mkdtemp(join(tmpdir(), 'paced-'));
  const path = join(folder, 's');
  const server = createServer().listen(path);
  await once(server, 'listening');
  const reader = connect(path);
  const [sender] = (await once(server, 'connection')) as [Socket];
  cleanups.push(() => rm(folder, { recursive: true }));
  cleanups.push(() => void server.close());
  cleanups.push(() => void reader.destroy());
  cleanups.push(() => void sender.destroy());
  return { reader, sender };
}

/** Reads lines at a pace and counts them. */
function countLines(reader: Socket, pace: LinePace): { readonly lines: number } {
  const seen = { lines: 0 };
  const onLine = () => {
    seen.lines += 1;
  };
  readLines(reader, new LineSplitter(10_000), onLine, pace);
  return seen;
}

/** How many lines may have been read since then. One more can be, because timers are rounded to milliseconds. */
function allowedLines({ burstLines, linesPerSecond }: LinePace, startedMs: number): number {
  return burstLines + ((performance.now() - startedMs) * linesPerSecond) / 1_000;
}

describe('lines that never end', () => {
  it('are read at the rate that is allowed after a first burst, while the sender waits', async () => {
    const pace: LinePace = { bytesPerTurn: 64, linesPerTurn: 2, burstLines: 10, linesPerSecond: 50, bytesPerLine: 100 };
    const { reader, sender } = await connected();
    const startedMs = performance.now();
    const seen = countLines(reader, pace);
    const flood = Buffer.from('x\n'.repeat(4_000_000));
    sender.write(flood);
    await expect.poll(() => seen.lines).toBeGreaterThan(pace.burstLines + 10);
    expect(seen.lines - 1).toBeLessThanOrEqual(allowedLines(pace, startedMs));
    // The rest is neither read nor kept here.
    expect(reader.bytesRead).toBeLessThan(flood.length / 4);
    expect(sender.writableLength).toBeGreaterThan(0);
  });

  it('are read at the rate of their bytes if they are long', async () => {
    const pace: LinePace = {
      bytesPerTurn: 8_192,
      linesPerTurn: 2,
      burstLines: 1_000,
      linesPerSecond: 500,
      bytesPerLine: 100,
    };
    const { reader, sender } = await connected();
    const startedMs = performance.now();
    const seen = countLines(reader, pace);
    sender.write(`${'x'.repeat(5_000)}\n`.repeat(1_000));
    await expect.poll(() => seen.lines).toBeGreaterThan(30);
    expect((seen.lines - 1) * 50).toBeLessThanOrEqual(allowedLines(pace, startedMs));
  });

  it('leave a turn of the event loop to others after a few lines, and also if they are empty', async () => {
    const pace: LinePace = {
      bytesPerTurn: 4_096,
      linesPerTurn: 8,
      burstLines: 1_000_000,
      linesPerSecond: 1,
      bytesPerLine: 100,
    };
    const { reader, sender } = await connected();
    const total = 20_000;
    const seen = countLines(reader, pace);
    sender.write('\n'.repeat(total / 2) + 'x\n'.repeat(total / 2));
    let longest = 0;
    while (seen.lines < total / 2) {
      const before = seen.lines;
      await nextTurn();
      longest = Math.max(longest, seen.lines - before);
    }
    // Its turn and the one of this loop may follow each other in either order.
    expect(longest).toBeLessThanOrEqual(2 * pace.linesPerTurn);
  });

  it('are not read any more after the connection was closed', async () => {
    const pace: LinePace = {
      bytesPerTurn: 64,
      linesPerTurn: 2,
      burstLines: 5,
      linesPerSecond: 1_000,
      bytesPerLine: 100,
    };
    const { reader, sender } = await connected();
    const seen = countLines(reader, pace);
    sender.on('error', () => {}).write('x\n'.repeat(1_000_000));
    await expect.poll(() => seen.lines).toBeGreaterThan(pace.burstLines);
    reader.destroy();
    const read = seen.lines;
    await pause(100);
    expect(seen.lines).toBe(read);
  });
});
