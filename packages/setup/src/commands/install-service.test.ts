import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installService, type SystemdHost } from './install-service.ts';

let folder: string;
let calls: string[];
let printed: string;
let host: SystemdHost;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-systemd-'));
  calls = [];
  printed = '';
  mkdirSync(join(folder, 'units'));
  host = {
    unitDir: join(folder, 'units'),
    environmentFile: join(folder, 'etc/mayfly.env'),
    isRunning: true,
    systemctl: async (...args) => void calls.push(args.join(' ')),
    print: (text) => {
      printed += text;
    },
  };
});
afterEach(() => rmSync(folder, { recursive: true }));

test('writes both units and the present settings, and starts them now and at boot', async () => {
  expect(await installService(host, { MAYFLY_PORT: '9090', PATH: '/bin' })).toBe(0);
  expect(calls).toEqual(['daemon-reload', 'enable --now mayfly-host.service mayfly.service']);
  expect(readFileSync(join(folder, 'units/mayfly.service'), 'utf8')).toContain('User=mayfly');
  expect(readFileSync(join(folder, 'units/mayfly-host.service'), 'utf8')).toContain('CAP_NET_ADMIN');
  const settings = readFileSync(host.environmentFile, 'utf8');
  expect(settings).toContain('\nMAYFLY_PORT="9090"\n');
  expect(settings).not.toContain('PATH');
  expect(statSync(host.environmentFile).mode & 0o777).toBe(0o600);
  expect(printed).toContain('also after a reboot');
});

test('keeps the settings of an earlier installation', async () => {
  mkdirSync(join(folder, 'etc'));
  writeFileSync(host.environmentFile, 'MAYFLY_PORT=1\n');
  await installService(host, { MAYFLY_PORT: '9090' });
  expect(readFileSync(host.environmentFile, 'utf8')).toBe('MAYFLY_PORT=1\n');
});

test('is refused where systemd does not run', async () => {
  await expect(installService({ ...host, isRunning: false }, {})).rejects.toThrow('not run by systemd');
  expect(calls).toEqual([]);
});
