import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tryLock } from '../cache/lock.ts';
import { projectRoot } from '../environment.ts';
import type { SystemdHost } from '../systemd/systemd-host.ts';
import { installService, uninstallService } from './install-service.ts';

let folder: string;
let calls: string[];
let printed: string;
let active: Set<string>;
let host: SystemdHost;
const print = (text: string): void => {
  printed += text;
};
const unit = (name: string) => readFileSync(join(folder, 'units', name), 'utf8');
/** Settings with folders that exist only in this test. */
const settings = (others: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  MAYFLY_DATA_DIR: join(folder, 'data'),
  PATH: '/root/.nvm/bin:/opt/x/node_modules/.bin:/usr/bin',
  ...others,
});
/** Of the checkout and of folders that a test makes: the checkout may belong to somebody else than who runs the tests. */
const ownerIds = (id: 'uid' | 'gid') => [projectRoot, folder].map((path) => statSync(path)[id]);
const install = (others?: NodeJS.ProcessEnv) => installService(host, settings(others), print);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-systemd-'));
  chmodSync(folder, 0o755);
  [calls, printed, active] = [[], '', new Set()];
  mkdirSync(join(folder, 'units'));
  host = {
    unitDir: join(folder, 'units'),
    environmentFile: join(folder, 'etc/mayfly.env'),
    isRoot: true,
    isRunning: true,
    trusted: { uids: [0, ...ownerIds('uid')], gids: [0, ...ownerIds('gid')] },
    systemctl: async (...args) => void calls.push(args.join(' ')),
    isActive: async (name) => active.has(name),
    isReady: async () => true,
  };
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('installing', () => {
  test('writes both units and the present settings, and starts them now and at boot', async () => {
    expect(await install({ MAYFLY_PORT: '9090', PGPASSWORD: 'a"$b' })).toBe(0);
    expect(calls).toEqual([
      'daemon-reload',
      'enable mayfly-host.service mayfly.service',
      'restart mayfly-host.service mayfly.service',
    ]);
    expect(readdirSync(join(folder, 'units')).toSorted()).toEqual([
      'mayfly-api.socket',
      'mayfly-host.service',
      'mayfly-previews.socket',
      'mayfly.service',
    ]);
    expect(unit('mayfly.service')).toContain('User=mayfly');
    expect(unit('mayfly-host.service')).toContain('CAP_NET_ADMIN');
    const folders = [
      dirname(process.execPath),
      '/usr/local/sbin',
      '/usr/local/bin',
      '/usr/sbin',
      '/usr/bin',
      '/sbin',
      '/bin',
    ];
    expect(unit('mayfly-host.service')).toContain(`\nEnvironment=PATH=${folders.join(':')}\n`);
    const text = readFileSync(host.environmentFile, 'utf8');
    expect(text).toContain('\nMAYFLY_PORT="9090"\nPGPASSWORD="a\\"\\$b"\n');
    expect(text).not.toContain('PATH=');
    expect(statSync(host.environmentFile).mode & 0o777).toBe(0o600);
    expect(printed).toContain('also after a reboot');
  });

  test('again uses the settings of the earlier installation, and restarts what runs', async () => {
    mkdirSync(join(folder, 'etc'));
    const kept = `MAYFLY_DATA_DIR="${folder}/earlier"\nMAYFLY_PORT=443\n`;
    writeFileSync(host.environmentFile, kept);
    active.add('mayfly-host.service');
    mkdirSync(join(folder, 'earlier'));
    using _running = await tryLock(join(folder, 'earlier/lock'));
    expect(await install({ MAYFLY_PORT: '9090' })).toBe(0);
    expect(readFileSync(host.environmentFile, 'utf8')).toBe(kept);
    expect(unit('mayfly.service')).toContain(`\nBindPaths=${folder}/earlier/service\n`);
    expect(printed).toContain('was not changed');
    expect(calls.at(-1)).toBe('restart mayfly-host.service mayfly.service');
  });

  test('ports become sockets of systemd, which outlive a restart of the service, and are removed when they are no longer wanted', async () => {
    await install({ MAYFLY_PORT: '443', MAYFLY_PREVIEW_PORT: '8444', MAYFLY_PREVIEW_HOST: '::1' });
    expect(unit('mayfly.service')).toContain('\nSockets=mayfly-api.socket\nSockets=mayfly-previews.socket\n');
    expect(unit('mayfly-api.socket')).toContain(
      'ListenStream=127.0.0.1:443\nBindIPv6Only=both\nFileDescriptorName=api\nService=mayfly.service\n',
    );
    expect(unit('mayfly-api.socket')).toContain('\nPartOf=mayfly-host.service\n');
    expect(unit('mayfly-previews.socket')).toContain('ListenStream=[::1]:8444\n');
    rmSync(host.environmentFile);
    calls = [];
    await install({ MAYFLY_PORT: '443', MAYFLY_PREVIEW_PORT: '0' });
    expect(calls[0]).toBe('disable --now mayfly-previews.socket');
    expect(existsSync(join(folder, 'units/mayfly-previews.socket'))).toBe(false);
    expect(unit('mayfly.service')).not.toContain('previews.socket');
  });

  test('the API is on every address of localhost that this host has', async () => {
    await install({ MAYFLY_HOST: 'localhost', MAYFLY_PORT: '8081' });
    expect(unit('mayfly-api.socket')).toMatch(/^ListenStream=(?:127\.0\.0\.1|\[::1\]):8081$/m);
  });

  test('fails if the service does not answer, and says where to look', async () => {
    host = { ...host, isReady: async () => false };
    await expect(install()).rejects.toThrow('journalctl -u mayfly');
    expect(printed).toBe('');
  });

  test('keeps certificates by their absolute paths', async () => {
    await install({ MAYFLY_TLS_CERT: 'tls.crt', MAYFLY_TLS_KEY: 'tls.key' });
    const text = readFileSync(host.environmentFile, 'utf8');
    expect(text).toContain(`MAYFLY_TLS_CERT="${resolve('tls.crt')}"\n`);
    expect(text).toContain(`MAYFLY_TLS_KEY="${resolve('tls.key')}"\n`);
  });

  test('is refused, before anything is changed, where systemd does not run', async () => {
    host = { ...host, isRunning: false };
    await expect(install()).rejects.toThrow('not run by systemd');
    expect(calls).toEqual([]);
    expect(existsSync(host.environmentFile)).toBe(false);
  });

  test('is refused while another Mayfly uses the data folder', async () => {
    mkdirSync(join(folder, 'data'));
    using _running = await tryLock(join(folder, 'data/lock'));
    await expect(install()).rejects.toThrow('Stop it, then try again');
    expect(readdirSync(join(folder, 'units'))).toEqual([]);
  });

  test('is refused with settings that Mayfly refuses, paths that systemd would interpret, and folders that the service cannot reach', async () => {
    await expect(install({ MAYFLY_PORT: 'x' })).rejects.toThrow('MAYFLY_PORT');
    await expect(install({ MAYFLY_DATA_DIR: `${folder}/a b` })).rejects.toThrow('would not understand');
    await expect(install({ MAYFLY_DATA_DIR: `${folder}/100%` })).rejects.toThrow('would not understand');
    mkdirSync(join(folder, 'closed'), { mode: 0o700 });
    await expect(install({ MAYFLY_DATA_DIR: `${folder}/closed/data` })).rejects.toThrow(`chmod o+x ${folder}/closed`);
    expect(calls).toEqual([]);
  });

  test('is refused with a folder that other users can change, because root would use it at every boot', async () => {
    mkdirSync(join(folder, 'open'));
    chmodSync(join(folder, 'open'), 0o777);
    const unsafe = `every user can write to ${folder}/open`;
    await expect(install({ MAYFLY_DATA_DIR: `${folder}/open/data` })).rejects.toThrow(unsafe);
    await expect(install({ MAYFLY_CACHE_DIR: `${folder}/open/cache` })).rejects.toThrow(unsafe);
    host = { ...host, trusted: { uids: [4_000_001], gids: [] } };
    await expect(install()).rejects.toThrow(`Root would use ${projectRoot} at every boot`);
    expect(calls).toEqual([]);
    expect(readdirSync(join(folder, 'units'))).toEqual([]);
  });
});

describe('uninstalling', () => {
  test('stops and removes what was installed, and keeps settings', async () => {
    await install({ MAYFLY_PORT: '443' });
    calls = [];
    mkdirSync(join(folder, 'units/mayfly.service.d'));
    writeFileSync(join(folder, 'units/other.service'), '');
    expect(await uninstallService(host, print)).toBe(0);
    expect(calls).toEqual([
      'disable --now mayfly.service mayfly-api.socket mayfly-previews.socket mayfly-host.service',
      'daemon-reload',
    ]);
    expect(readdirSync(join(folder, 'units'))).toEqual(['other.service']);
    expect(existsSync(host.environmentFile)).toBe(true);
    expect(printed).toContain('Sandboxes stay alive');
  });

  test('without an installation changes nothing', async () => {
    expect(await uninstallService(host, print)).toBe(0);
    expect(calls).toEqual([]);
    expect(printed).toContain('not installed as a service');
  });

  test('is refused without root, and changes nothing', async () => {
    await install();
    calls = [];
    await expect(uninstallService({ ...host, isRoot: false }, print)).rejects.toThrow('needs root');
    expect(calls).toEqual([]);
    expect(existsSync(join(folder, 'units/mayfly.service'))).toBe(true);
  });
});
