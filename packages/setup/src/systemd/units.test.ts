import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostCapabilities } from '@mayfly/server/machines';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hostUnitName, serviceUnitName, type UnitPlan, unitFiles } from './units.ts';

const plan: UnitPlan = {
  checkout: '/opt/mayfly',
  nodePath: process.execPath,
  dataDir: '/var/lib/mayfly',
  cacheDir: '/var/cache/mayfly',
  environmentFile: '/etc/mayfly/mayfly.env',
  stateDir: '/run/mayfly',
  programFolders: ['/usr/sbin', '/usr/bin'],
  hostCapabilities: Object.keys(hostCapabilities).map((name) => name.toUpperCase()),
  serviceMemoryBytes: 2 ** 30,
  ports: [{ name: 'api', address: '127.0.0.1', port: 443 }],
};

const textOf = (name: string): string => unitFiles(plan).get(name) ?? '';

test('the service has no capability, its own user, and cannot see machines or templates', () => {
  const text = textOf(serviceUnitName);
  expect(text).toContain('\nUser=mayfly\n');
  expect(text).toMatch(/^Environment=HOME=\/nonexistent /m);
  expect(text).toContain('\nCapabilityBoundingSet=\n');
  // The data folder is closed to others: through an empty one the service reaches its two parts and nothing else.
  expect(text).toContain('\nTemporaryFileSystem=/var/lib/mayfly:ro\n');
  expect(text).toContain('\nBindPaths=/var/lib/mayfly/service\n');
  expect(text).toContain('\nBindReadOnlyPaths=/opt/mayfly /var/lib/mayfly/run\n');
  expect(text).toContain('\nInaccessiblePaths=-/var/cache/mayfly -/run/mayfly\n');
  expect(text).toContain('\nNoExecPaths=/\n');
});

test('the host process keeps its list of capabilities, and mounts where the next start finds it', () => {
  const text = textOf(hostUnitName);
  expect(text).toMatch(/^CapabilityBoundingSet=CAP_CHOWN (?:CAP_[A-Z_]+ )*CAP_MKNOD$/m);
  expect(text).not.toMatch(/CAP_(?:FOWNER|NET_RAW|SYS_MODULE|SYS_RAWIO)/);
  // Each of these would give it a mount namespace of its own.
  expect(text).not.toMatch(/^(?:Private|Protect|ReadOnly|ReadWrite|Inaccessible|Bind|TemporaryFileSystem)/m);
});

test('set-up runs with all rights and a mask that lets the service read what npm installs', () => {
  const text = textOf(hostUnitName);
  expect(text).toContain('\nExecStartPre=+');
  expect(text).not.toContain('UMask');
});

test('the service is started when the host process is ready, and both whatever failed before', () => {
  expect(textOf(hostUnitName)).toContain('\nType=notify\n');
  expect(textOf(serviceUnitName)).toMatch(/^After=.* mayfly-host\.service$/m);
  for (const name of [hostUnitName, serviceUnitName]) {
    expect(textOf(name)).toContain('\nStartLimitIntervalSec=0\n');
    expect(textOf(name)).toContain('\nRestart=always\n');
    expect(textOf(name)).not.toContain('RestartPreventExitStatus');
    expect(textOf(name)).toMatch(/^RequiresMountsFor=\/opt\/mayfly \/var\/lib\/mayfly/m);
  }
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

describe('systemd', () => {
  let folder: string;
  beforeEach(({ skip }) => {
    skip(!hasSystemd, 'needs systemd-analyze');
    folder = mkdtempSync(join(tmpdir(), 'mayfly-units-'));
    for (const [name, text] of unitFiles(plan)) writeFileSync(join(folder, name), text);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const exposureOf = (name: string): number => {
    const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', join(folder, name)], {
      encoding: 'utf8',
    });
    return Number(/Overall exposure level for .*: ([\d.]+)/.exec(stdout)?.[1]);
  };

  test('knows every directive', () => {
    const { stderr } = spawnSync(
      'systemd-analyze',
      ['verify', ...[...unitFiles(plan).keys()].map((name) => join(folder, name))],
      { encoding: 'utf8' },
    );
    expect(stderr).not.toMatch(/Unknown|Failed to parse|Invalid/i);
  });

  test('rates the exposure of the service as low, and enables both at boot', () => {
    const [service, host] = [exposureOf(serviceUnitName), exposureOf(hostUnitName)];
    console.log(`systemd-analyze security: service ${service}, host ${host} (0 is safest, 10 most exposed)`);
    expect(service).toBeLessThan(2);
    expect(host).toBeLessThan(7);
    const root = join(folder, 'root');
    execFileSync('install', [
      '-D',
      '-t',
      join(root, 'etc/systemd/system'),
      join(folder, hostUnitName),
      join(folder, serviceUnitName),
    ]);
    execFileSync('systemctl', [`--root=${root}`, 'enable', hostUnitName, serviceUnitName], { stdio: 'ignore' });
    const isEnabled = spawnSync('systemctl', [`--root=${root}`, 'is-enabled', hostUnitName, serviceUnitName], {
      encoding: 'utf8',
    });
    expect(isEnabled.stdout.trim().split('\n')).toEqual(['enabled', 'enabled']);
  });
});
