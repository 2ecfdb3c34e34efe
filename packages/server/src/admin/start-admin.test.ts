import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';
import { startAdmin } from './start-admin.ts';

const log = pino({ level: 'silent' });
let folder: string;
let service: Awaited<ReturnType<typeof stubService>>;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-admin-'));
  service = await stubService();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const start = (dataDir = folder) =>
  startAdmin({ core: service.core, dataDir, log, urls: { local: () => undefined, public: () => undefined } });

const get = (socketPath: string) =>
  new Promise<string>((resolve, reject) => {
    request({ socketPath, path: '/sandboxes', agent: false }, (response) => resolve(text(response)))
      .once('error', reject)
      .end();
  });

test('only the owner can open the socket, and the folder holds nothing else, neither while it is served nor afterwards', async () => {
  const admin = await start();
  const socket = join(folder, 'admin.sock');
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  expect(statSync(socket).isSocket()).toBe(true);
  expect(readdirSync(folder)).toEqual(['admin.sock']);
  expect(await get(socket)).toBe('{"object":"list","data":[]}');
  await admin[Symbol.asyncDispose]();
  expect(readdirSync(folder)).toEqual([]);
});

test('the socket of a killed service is replaced', async () => {
  const socket = join(folder, 'admin.sock');
  const killed = createServer().listen(join(folder, 'other'));
  await new Promise((resolve) => killed.once('listening', resolve));
  renameSync(join(folder, 'other'), socket);
  await new Promise((resolve) => killed.close(resolve));
  mkdirSync(join(folder, 'admin.sock.new'));
  writeFileSync(join(folder, 'admin.sock.new', 'admin.sock'), '');
  await expect(get(socket)).rejects.toThrow('ECONNREFUSED');
  const admin = await start();
  expect(await get(socket)).toContain('"list"');
  await admin[Symbol.asyncDispose]();
});

test('the path of the data folder may be longer than the kernel allows for a socket', async () => {
  const deep = join(folder, 'd'.repeat(120), 'e'.repeat(120));
  mkdirSync(deep, { recursive: true });
  const admin = await start(deep);
  expect(statSync(join(deep, 'admin.sock')).mode & 0o777).toBe(0o600);
  await admin[Symbol.asyncDispose]();
  expect(readdirSync(deep)).toEqual([]);
});

test('a socket that cannot be created is an error, and nothing is left behind', async () => {
  mkdirSync(join(folder, 'admin.sock', 'in-the-way'), { recursive: true });
  await expect(start()).rejects.toThrow('EISDIR: illegal operation on a directory, rename');
  expect(readdirSync(folder)).toEqual(['admin.sock']);
});
