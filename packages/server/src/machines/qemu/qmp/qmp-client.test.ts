import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { LongestTurn, untilShortTurns } from '../../../../test/longest-turn.ts';
import { LineSplitter } from '../../protocol/line-splitter.ts';
import { maxLineBytes, parseQmpMessage } from './messages.ts';
import { connectMonitor, QmpClient } from './qmp-client.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A QMP client and the socket of its peer, which the test controls. */
async function pair(): Promise<{ client: QmpClient; peer: Socket }> {
  const folder = await mkdtemp(join(tmpdir(), 'qmp-'));
  const path = join(folder, 's');
  const server: Server = createServer();
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const client = new QmpClient(connect(path));
  const peer = await accepted;
  cleanups.push(() => rm(folder, { recursive: true }));
  cleanups.push(() => void server.close());
  cleanups.push(() => void peer.destroy());
  return { client, peer };
}

it("a QEMU that exits at once is reported with its log, although its monitor's socket was open", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'qmp-'));
  cleanups.push(() => rm(folder, { recursive: true }));
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(join(folder, 's'), resolve));
  cleanups.push(() => void server.close());
  await writeFile(join(folder, 'log'), 'cannot set up guest memory: Cannot allocate memory\n');
  const ended = Promise.resolve({ code: 1, signal: null });
  const process = { pid: 1, ended, isGone: true, kill: async () => {} };
  await expect(connectMonitor(process, join(folder, 's'), join(folder, 'log'))).rejects.toThrow(
    'QEMU exited at once: cannot set up guest memory: Cannot allocate memory',
  );
});

describe('a QMP client', () => {
  it('reads a flood a little in each turn, and can be closed in the middle of it', async () => {
    const { client, peer } = await pair();
    const turns = new LongestTurn();
    const longest = await untilShortTurns(50, async () => {
      turns.take();
      peer.write('\n'.repeat(60_000));
      peer.write('{"event": "STOP"}\n'.repeat(400));
      await pause(500);
      return turns.take();
    });
    turns[Symbol.dispose]();
    console.log(`longest turn ${longest.map(Math.round).join(', then ')} ms`);
    // The answer is behind lines that were sent before it, so it has not arrived yet.
    let isAnswered = false;
    const answered = client.execute('query-status').then(() => {
      isAnswered = true;
    });
    peer.write(`${'\n'.repeat(60_000)}{"return": {}, "id": 1}\n`);
    await pause(500);
    expect(isAnswered).toBe(false);
    peer.end();
    // At the rate that is allowed, the flood would take minutes.
    const startedMs = performance.now();
    await client.finish();
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    await expect(answered).rejects.toThrow('QEMU closed its monitor');
    await expect(client.execute('cont')).rejects.toThrow('QEMU closed its monitor');
  });

  it('reads some hundred lines at once without a wait', async () => {
    const { client, peer } = await pair();
    const answer = client.execute('query-status');
    peer.write(`${'{"event": "STOP"}\n'.repeat(500)}{"return": "soon", "id": 1}\n`);
    expect(await answer).toBe('soon');
  });

  it('reads long messages at the rate of their bytes', async () => {
    const { client, peer } = await pair();
    let seen = 0;
    client.onEvent(() => {
      seen += 1;
    });
    const startedMs = performance.now();
    const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`${at}`, 0]));
    const message = JSON.stringify({ event: 'STOP', data });
    peer.write(`${message}\n`.repeat(100));
    await expect.poll(() => seen).toBeGreaterThan(15);
    await pause(500);
    // 2 MiB at once, then 0.4 MiB per second.
    const allowedBytes = (2 + (0.4 * (performance.now() - startedMs)) / 1_000) * 1024 ** 2;
    expect(seen * message.length).toBeLessThanOrEqual(allowedBytes);
    peer.destroy();
  });

  it('matches results to commands in any order', async () => {
    const { client, peer } = await pair();
    const both = Promise.all([client.execute('a'), client.execute('b')]);
    peer.write('{"return": "for b", "id": 2}\n{"event": "STOP"}\n{"return": "for a", "id": 1}\n');
    expect(await both).toEqual(['for a', 'for b']);
  });

  it("fails a command with QEMU's error message", async () => {
    const { client, peer } = await pair();
    const answer = client.execute('cont');
    peer.write('{"id": 1, "error": {"class": "GenericError", "desc": "no such thing"}}\n');
    await expect(answer).rejects.toThrow('QEMU: no such thing');
  });

  it('fails open and later commands when QEMU closes the connection', async () => {
    const { client, peer } = await pair();
    const answer = client.execute('cont');
    peer.destroy();
    await expect(answer).rejects.toThrow('closed its monitor');
    await expect(client.execute('stop')).rejects.toThrow('closed its monitor');
  });

  it('closes the connection on an endless line', async () => {
    const { client, peer } = await pair();
    peer.on('error', () => {});
    peer.write(Buffer.alloc(maxLineBytes + 2, 'x'));
    await expect(client.closed).resolves.toBeUndefined();
  });
});

it('splits lines the same way however the bytes arrive', () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[^\n\r\s]{1,20}$/)), fc.array(fc.nat(7)), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      const splitter = new LineSplitter(maxLineBytes);
      const seen: string[] = [];
      let from = 0;
      for (const cut of cuts) {
        seen.push(...splitter.push(bytes.subarray(from, from + cut)));
        from += cut;
      }
      seen.push(...splitter.push(bytes.subarray(from)));
      expect(seen).toEqual(lines);
    }),
  );
});

it('parses any line without throwing', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
      expect(parseQmpMessage(line).kind).toBeTypeOf('string');
    }),
  );
});
