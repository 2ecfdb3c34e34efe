import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import type { BudgetSettings } from '../../core/budgets/budgets.ts';
import { type BodyPace, type BodyProgress, defaultBodyPace, isTooSlow } from './slow-body.ts';

const patient: BodyPace = {
  stallMs: 60_000,
  graceMs: 60_000,
  windowMs: 100,
  minBytesPerSecond: 500,
  longestMs: 3_600_000,
  checkMs: 10,
};
const stallsSoon = { ...patient, stallMs: 300 };

let service: Awaited<ReturnType<typeof stubService>>;
afterEach(() => service[Symbol.asyncDispose]());

/** Sends the head of a create with a body of `bytes` bytes, and returns the connection. */
async function startCreate(
  bodyPace: BodyPace,
  bytes: number,
  {
    key,
    path = '/v1/sandboxes',
    budgets = {},
  }: { readonly key?: string; readonly path?: string; readonly budgets?: Partial<BudgetSettings> } = {},
): Promise<Socket> {
  service = await stubService({}, {}, { bodyPace, budgets });
  const { port } = new URL(await service.app.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: x',
    'x-request-id: mine',
    `authorization: Bearer ${key ?? service.key}`,
  ];
  socket.write(`${[...head, `content-length: ${bytes}`, 'connection: close'].join('\r\n')}\r\n\r\n`);
  return socket;
}

/** Sends a few bytes, slowly. It ends long before a grace period of three seconds does: a write after the response would fail the read of it. */
async function trickle(socket: Socket): Promise<void> {
  for (let bytes = 0; bytes < 5; bytes++) {
    socket.write(' ');
    await wait(20);
  }
}

test('an upload over a slow line takes as long as it makes progress', async () => {
  const json = JSON.stringify({ name: 'slow' });
  const slowLine = { ...patient, graceMs: 100, windowMs: 30_000, minBytesPerSecond: 0.1 };
  const socket = await startCreate(slowLine, json.length);
  for (const character of json) {
    socket.write(character);
    await wait(20);
  }
  expect(await text(socket)).toMatch(/^HTTP\/1.1 201 /);
  expect(service.app.server.requestTimeout).toBe(0);
});

test('a body that stalls is answered with 408 and its connection is closed', async () => {
  const socket = await startCreate(stallsSoon, 1_000);
  socket.write('{"name":');
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1.1 408 /);
  expect(answer).toContain('"request_error"');
  expect(answer).toContain('x-request-id: mine\r\n');
  // Only once in the window of the source address: it was counted when its head arrived.
  expect(answer).toContain('ratelimit-remaining: 119\r\n');
});

test('a body that waits for room is not slow meanwhile, however long it waits', async () => {
  const allBytes = 100_000;
  const bodyBytes = { perAccount: allBytes, total: allBytes, waitingPerAccount: 5 };
  const json = JSON.stringify({ name: 'x'.repeat(60_000) });
  const socket = await startCreate({ ...patient, stallMs: 500 }, json.length, { budgets: { bodyBytes } });
  const budget = service.core.budgets.bodyBytes;
  expect(budget.tryTake('acct_other', allBytes)).toBe(true);
  socket.write(json.slice(0, 30_000));
  await vi.waitFor(() => expect(budget.waiting).toBe(1));
  await wait(1_000);
  budget.give('acct_other', allBytes);
  // It is judged again from now on, and what was silent before does not count.
  await wait(5 * patient.checkMs);
  socket.write(json.slice(30_000));
  // It was read to its end: the name is too long.
  expect(await text(socket)).toMatch(/^HTTP\/1.1 400 [\s\S]*name/);
});

test('a body that trickles below the minimum rate is answered with 408', async () => {
  const socket = await startCreate({ ...patient, graceMs: 3_000, windowMs: 1_000 }, 1_000_000);
  await trickle(socket);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 408 /);
});

test('a connection that holds the body back after a refusal is closed', async () => {
  const socket = await startCreate(stallsSoon, 1_000, { key: 'mf_unknown' });
  expect(await text(socket)).toMatch(/^HTTP\/1.1 401 /);
});

test('a connection that holds the body back after its URL was refused is closed', async () => {
  const socket = await startCreate(stallsSoon, 1_000, { path: '/v1/%zz' });
  expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /);
});

describe('the default pace', () => {
  const minute = 60_000;
  const largestBytes = 11_219_763;
  /** Whether a body is too slow of which this much arrived in the last half minute. */
  const at = (elapsedMs: number, windowBytes: number, others: Partial<BodyProgress> = {}) =>
    isTooSlow(
      { elapsedMs, windowBytes, silentMs: 0, sizeBytes: 100_000, isAnswered: false, ...others },
      defaultBodyPace,
    );

  test('allows 500 bytes per second for as long as it takes, and any pace in the first minute', () => {
    for (let minutes = 1; minutes < 60; minutes++) expect(at(minutes * minute, 30 * 500)).toBe(false);
    expect(at(minute, 1)).toBe(false);
  });

  test('allows the largest body at a pace with which it takes an hour', () => {
    const bytesPerSecond = largestBytes / 3_600;
    expect(at(50 * minute, 30 * bytesPerSecond, { sizeBytes: largestBytes })).toBe(false);
    expect(at(50 * minute, 25 * bytesPerSecond, { sizeBytes: largestBytes })).toBe(true);
  });

  test('ends a body that pauses for 30 seconds, or that stays below 500 bytes per second', () => {
    expect(at(minute / 2, 1_000_000, { silentMs: 30_000 })).toBe(true);
    expect(at(10 * minute, 30 * 400)).toBe(true);
  });

  test('ends a body that is still arriving a minute after the request was answered', () => {
    expect(at(minute, 1_000_000, { isAnswered: true })).toBe(false);
    expect(at(minute + 1, 1_000_000, { isAnswered: true })).toBe(true);
  });
});

test('a body that delivers almost everything at once earns no time for the rest', async () => {
  const socket = await startCreate({ ...patient, graceMs: 3_000 }, 1_000_000);
  socket.write(' '.repeat(999_000));
  await trickle(socket);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 408 /);
});
