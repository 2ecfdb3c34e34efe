import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RawService } from '../../test/host-process/host-lab.ts';
import { RpcChild } from '../../test/network/rpc.ts';
import { RecordedLog } from '../../test/recorded-log.ts';
import { maxCallBytes, maxCallsInFlight } from '../machines/protocol/messages.ts';
import { hostSocketPath, runFolderOf } from '../machines/protocol/run-folder.ts';
import { RemoteDriver } from '../machines/remote/remote-driver.ts';
import { connectOnce } from '../system/unix-sockets.ts';
import type { HostLimits } from './host-limits.ts';

const mebibyte = 1024 ** 2;
/** Far more than a connection needs, and far less than is sent. */
const mostGrowthBytes = 24 * mebibyte;
const floodBytes = 256 * mebibyte;

let dataDir = '';
let host: RpcChild;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'host-'));
  host = new RpcChild([
    process.execPath,
    '--expose-gc',
    new URL('../../test/host-process/host-worker.ts', import.meta.url).pathname,
  ]);
});
afterEach(async () => {
  await host.kill();
  await rm(dataDir, { recursive: true });
});

/** Starts a host process with two machines and returns what it holds. */
async function start(limits: Partial<HostLimits> = {}): Promise<number> {
  await host.ask('start', { dataDir, limits, running: ['m1', 'm2'] });
  return await heldBytes();
}
const heldBytes = () => host.ask<number>('heldBytes');
const connectRaw = async () => new RawService(await connectOnce(hostSocketPath(runFolderOf(dataDir))));

/** Writes the line again and again until the host process has taken the bytes of the flood or has not read for a while, or the connection ends. */
async function flood(socket: Socket, line: (at: number) => string): Promise<number> {
  let sentBytes = 0;
  for (let at = 0; sentBytes < floodBytes && socket.writable; ) {
    const lines: string[] = [];
    for (const end = at + 1_000; at < end; at += 1) lines.push(line(at));
    const text = lines.join('');
    const written = new Promise<boolean>((resolve) => {
      socket.write(text, (error) => resolve(!error));
    });
    if ((await Promise.race([written, wait(2_000, false)])) === false) break;
    sentBytes += text.length;
  }
  return sentBytes;
}

/** The host process still cleans up after a machine that dies, and serves the next service. */
async function expectUnharmed(): Promise<void> {
  await host.ask('die', { machine: 'm1', reason: 'killed by SIGKILL' });
  await expect.poll(() => host.ask('machines')).toContainEqual({ id: 'm1', destroyed: true, dead: true });
  const driver = await RemoteDriver.open({ runDir: runFolderOf(dataDir), log: new RecordedLog(), openMs: 30_000 });
  expect((await driver.adopt()).map(({ id }) => id)).toContain('m2');
  await driver.launch({ id: 'innocent', size: 'small' });
  await driver[Symbol.asyncDispose]();
}

function report(what: string, sentBytes: number, beforeBytes: number, afterBytes: number): void {
  const [sent, before, after] = [sentBytes, beforeBytes, afterBytes].map((bytes) => (bytes / mebibyte).toFixed(1));
  console.log(
    `${what}: the host process took ${sent} MiB; it held ${before} MiB before and ${after} MiB during the flood`,
  );
}

test('a service that floods and does not read has to wait, and the host process stays small', async () => {
  const before = await start({ callsPerSecond: 1_000_000 });
  const service = await connectRaw();
  await service.greet();
  service.socket.pause();
  const sentBytes = await flood(service.socket, (at) => `{"id":${at + 1},"call":"usage","machine":"foreign"}\n`);
  const during = await heldBytes();
  report('unread answers', sentBytes, before, during);
  expect(during - before).toBeLessThan(mostGrowthBytes);
  expect(sentBytes).toBeLessThan(8 * mebibyte);
  await expectUnharmed();
  service.close();
});

test('a service that reads nothing for too long is disconnected', async () => {
  await start({ stallMs: 500, callsPerSecond: 1_000_000 });
  const service = await connectRaw();
  await service.greet();
  service.socket.pause();
  await flood(service.socket, (at) => `{"id":${at + 1},"call":"usage","machine":"foreign"}\n`);
  await expect.poll(() => host.ask('events')).toContain('service_disconnected');
  service.close();
  await expectUnharmed();
});

test('a flood of launches starts as many as are allowed at once, and all end with the connection', async () => {
  const before = await start();
  await host.ask('holdLaunches');
  const service = await connectRaw();
  await service.greet();
  const launch = (at: number) => `{"id":${at + 1},"call":"launch","machine":"f${at}","size":"large","egress":"all"}\n`;
  const sentBytes = await flood(service.socket, launch);
  await expect.poll(() => host.ask('heldLaunches')).toBe(maxCallsInFlight);
  const during = await heldBytes();
  report('launches', sentBytes, before, during);
  expect(during - before).toBeLessThan(mostGrowthBytes);
  service.close();
  await expect.poll(() => host.ask('heldLaunches')).toBe(0);
  await host.ask('die', { machine: 'm1', reason: 'killed by SIGKILL' });
  await expect.poll(() => host.ask('machines')).toContainEqual({ id: 'm1', destroyed: true, dead: true });
});

test('lines that never end, and half a line that is never completed, are not kept', async () => {
  const before = await start({ handshakesPerSecond: 1_000 });
  let sentBytes = 0;
  for (let round = 0; round < 100; round += 1) {
    const service = await connectRaw();
    await service.greet();
    const bytes = Buffer.alloc(maxCallBytes + 1, 'x');
    sentBytes += bytes.length;
    service.send(bytes);
    await service.closed();
  }
  const half = await connectRaw();
  await half.greet();
  half.send(Buffer.alloc(maxCallBytes - 1, ' '));
  const during = await heldBytes();
  report('endless lines', sentBytes, before, during);
  expect(during - before).toBeLessThan(mostGrowthBytes);
  await expectUnharmed();
  half.close();
});

test('connections that say nothing are refused beyond a few, and make room again', async () => {
  await start({ handshakeMs: 1_000 });
  const silent = await Promise.all(Array.from({ length: 500 }, () => connectRaw().catch(() => undefined)));
  await expectUnharmed();
  for (const service of silent) service?.close();
});

test('connections that are opened and closed in a loop leave nothing behind, and the next service is served', async () => {
  const before = await start();
  const path = hostSocketPath(runFolderOf(dataDir));
  const rounds = 500;
  const openAndClose = async (): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) (await connectOnce(path).catch(() => undefined))?.destroy();
  };
  await Promise.all(Array.from({ length: 4 }, openAndClose));
  const during = await heldBytes();
  report(`${4 * rounds} connections`, 0, before, during);
  expect(during - before).toBeLessThan(mostGrowthBytes);
  await expectUnharmed();
});

test('a flood of valid calls is slowed down, and the log does not grow with the violations', async () => {
  await start({ callsPerSecond: 200 });
  const service = await connectRaw();
  await service.greet();
  const startedAtMs = performance.now();
  const calls = 1_000;
  for (let id = 1; id <= calls; id += 1) service.send({ id, call: 'usage', machine: 'foreign' });
  await service.next(({ id }) => id === calls);
  const seconds = (performance.now() - startedAtMs) / 1_000;
  // The first 200 pass at once, and a window may have been about to end.
  expect(seconds).toBeGreaterThan(3);
  for (let round = 0; round < 30; round += 1) {
    const violator = await connectRaw();
    violator.send('x\n');
    await violator.closed();
  }
  const lines = (await host.ask<string[]>('events')).filter((event) => event === 'host_protocol_violated');
  expect(lines.length).toBeLessThanOrEqual((performance.now() - startedAtMs) / 1_000 - seconds + 2);
  console.log(
    `${calls} calls at 200 per second took ${seconds.toFixed(1)} s; 30 violations made ${lines.length} log lines`,
  );
  service.close();
});

test('connecting again and again does not raise the number of calls in progress', async () => {
  await start({ handshakesPerSecond: 1_000, changesPerSecond: 1_000_000 });
  await host.ask('holdDestroys');
  for (let round = 0; round < 5; round += 1) {
    const service = await connectRaw();
    await service.greet();
    for (let id = 1; id <= 100; id += 1) service.send({ id, call: 'destroy', machine: 'm2' });
    await expect.poll(() => host.ask('heldDestroys')).toBe(maxCallsInFlight);
    service.close();
  }
  expect(await host.ask('heldDestroys')).toBe(maxCallsInFlight);
  await host.ask('releaseDestroys');
  await expect.poll(() => host.ask('heldDestroys')).toBe(0);
});
