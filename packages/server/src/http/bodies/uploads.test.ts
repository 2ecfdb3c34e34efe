import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stubService } from '../../../test/app/stub-service.ts';
import { createAccount } from '../../core/accounts/manage-accounts.ts';

const mebibyte = 1024 ** 2;
const largestBytes = 11_000_000;

let service: Awaited<ReturnType<typeof stubService>>;
let url: string;
const sockets: Socket[] = [];
beforeEach(async () => {
  service = await stubService(
    {},
    { MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '1000', MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '1000' },
  );
  url = await service.app.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await service[Symbol.asyncDispose]();
});

const almostAll = Buffer.alloc(largestBytes - 1, ' ');

/** Sends a request with all of its body except for the last byte. */
async function startUpload(path: string, key: string | undefined = service.key): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(
    `PUT ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: ${largestBytes}\r\n\r\n`,
  );
  socket.write(almostAll);
  return socket;
}

test('120 uploads of one key that never end hold no more than its share of memory, and nobody else notices', async () => {
  const { budgets } = service.core;
  const { apiKey } = await createAccount(service.core, { email: 'other@example.com', creditMicroUsd: 100_000_000 });
  const { id } = (await service.call('POST', '/v1/sandboxes')).body;
  const uploads = await Promise.all(Array.from({ length: 120 }, () => startUpload(`/v1/sandboxes/${id}/files`)));
  const refused = uploads.map((socket) => once(socket, 'data').then(([head]) => String(head).slice(0, 12)));
  const firstRefused = Promise.any(refused);
  await expect.poll(() => budgets.bodyBytes.waiting).toBeGreaterThan(50);
  await expect.poll(() => budgets.bodyBytes.held).toBeGreaterThan(50 * mebibyte);
  expect(budgets.bodyBytes.held).toBeLessThanOrEqual(64 * mebibyte);
  await expect.poll(() => budgets.uploads.held).toBe(64);
  expect(await firstRefused).toBe('HTTP/1.1 429');

  const headers = { authorization: `Bearer ${apiKey}` };
  const created = await fetch(`${url}/v1/sandboxes`, { method: 'POST', headers });
  const { id: otherId } = (await created.json()) as { id: string };
  const body = JSON.stringify({ path: 'a', content: 'x'.repeat(5_000_000) });
  const written = await fetch(`${url}/v1/sandboxes/${otherId}/files`, { method: 'PUT', headers, body });
  expect([created.status, written.status]).toEqual([201, 201]);

  for (const socket of uploads) socket.destroy();
  await expect.poll(() => [budgets.bodyBytes.held, budgets.bodyBytes.waiting, budgets.uploads.held]).toEqual([0, 0, 0]);
});

test("a stranger's body is not read", async () => {
  const socket = await startUpload('/nowhere', 'mf_unknown');
  const [head] = await once(socket, 'data');
  expect(String(head)).toMatch(/^HTTP\/1.1 404 /);
  expect(service.core.budgets.bodyBytes.held).toBe(0);
  socket.end(' ');
  await text(socket).catch(() => '');
});
