import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RecordedLog } from '../../test/recorded-log.ts';
import { notifySystemd } from './systemd-notify.ts';

let folder: string;
let log: RecordedLog;
let path: string | undefined;
const told = () => readFileSync(join(folder, 'told'), 'utf8');
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-notify-'));
  log = new RecordedLog();
  // Stands in for systemd's program, which is not on every host.
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >${folder}/told\n`);
  chmodSync(join(folder, 'systemd-notify'), 0o755);
  path = process.env.PATH;
  process.env.PATH = `${folder}:${path}`;
});
afterEach(() => {
  process.env.PATH = path;
  rmSync(folder, { recursive: true });
});

test('systemd is told once the host process listens', async () => {
  const socket = join(folder, 'host.sock');
  const notified = notifySystemd(socket, AbortSignal.timeout(60_000), log, { NOTIFY_SOCKET: '/run/systemd/notify' });
  expect(told).toThrow('ENOENT');
  const server = createServer((connection) => void connection.destroy()).listen(socket);
  await notified;
  server.close();
  expect(told()).toMatch(/^\/run\/systemd\/notify --ready/);
});

test('nobody is told by npm start, or after a stop', async () => {
  await notifySystemd(join(folder, 'host.sock'), AbortSignal.timeout(60_000), log, {});
  await notifySystemd(join(folder, 'host.sock'), AbortSignal.abort(), log, { NOTIFY_SOCKET: 'x' });
  expect(told).toThrow('ENOENT');
  expect(log.lines).toEqual([]);
});
