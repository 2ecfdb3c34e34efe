import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pinoLog } from '../../../test/machines/pino-log.ts';
import { LogTrimmer, trimLog } from './log-trimmer.ts';

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-log-'));
  path = join(folder, 'qemu.log');
});
afterEach(() => rm(folder, { recursive: true }));

it('leaves a short log alone', async () => {
  await writeFile(path, 'one\n');
  expect(await trimLog(path, 4)).toBe(false);
  expect(await readFile(path, 'utf8')).toBe('one\n');
});

it('keeps the last whole lines while QEMU has the file open', async () => {
  const qemu = openSync(path, 'a');
  try {
    for (let line = 0; line < 1000; line += 1) writeSync(qemu, `line ${line}\n`);
    expect(await trimLog(path, 100)).toBe(true);
    writeSync(qemu, 'after\n');
    const lines = (await readFile(path, 'utf8')).split('\n');
    expect(lines).toEqual([
      '[earlier lines were dropped]',
      'line 995',
      'line 996',
      'line 997',
      'line 998',
      'line 999',
      'after',
      '',
    ]);
  } finally {
    closeSync(qemu);
  }
});

it('keeps the end of one long line', async () => {
  await writeFile(path, 'x'.repeat(1000));
  expect(await trimLog(path, 100)).toBe(true);
  expect(await readFile(path, 'utf8')).toBe(`[earlier lines were dropped]\n${'x'.repeat(50)}`);
});

it('never follows a symbolic link that a machine put in its place', async () => {
  const secret = join(folder, 'secret');
  await writeFile(secret, 'x'.repeat(1000));
  await symlink(secret, path);
  await expect(trimLog(path, 100)).rejects.toMatchObject({ code: 'ELOOP' });
  await expect(trimLog(folder, 100)).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await readFile(secret, 'utf8')).toHaveLength(1000);
});

it('logs why a log could not be trimmed', async () => {
  const { log, lines } = pinoLog();
  const trimmer = new LogTrimmer(log);
  trimmer.watch({ id: 'sbx_1', logPath: folder, exited: new Promise(() => {}) });
  await expect.poll(lines).toEqual([
    expect.objectContaining({
      event: 'machine_log_trim_failed',
      machine_id: 'sbx_1',
      err: expect.objectContaining({ message: expect.stringContaining('EISDIR') }),
    }),
  ]);
  await trimmer[Symbol.asyncDispose]();
});
