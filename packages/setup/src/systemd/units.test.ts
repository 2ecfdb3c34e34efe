import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hostUnit, hostUnitName, serviceUnit, serviceUnitName, type UnitPlan } from './units.ts';

const plan: UnitPlan = {
  checkout: '/opt/mayfly',
  nodePath: process.execPath,
  dataDir: '/var/lib/mayfly',
  cacheDir: '/var/cache/mayfly',
  environmentFile: '/etc/mayfly/mayfly.env',
  hostCapabilities: ['CHOWN', 'NET_ADMIN', 'SYS_ADMIN'],
};

test('the service has no capability, its own user, and cannot see machines or templates', () => {
  const text = serviceUnit(plan);
  expect(text).toContain('\nUser=mayfly\n');
  expect(text).toContain('\nCapabilityBoundingSet=\n');
  expect(text).toContain('\nInaccessiblePaths=-/var/lib/mayfly/machines -/var/cache/mayfly -/run/mayfly\n');
});

test('the host process keeps its list of capabilities, and mounts where the next start finds it', () => {
  const text = hostUnit(plan);
  expect(text).toContain('\nCapabilityBoundingSet=CAP_CHOWN CAP_NET_ADMIN CAP_SYS_ADMIN\n');
  // Each of these would give it a mount namespace of its own.
  expect(text).not.toMatch(/^(?:Private|Protect|ReadOnly|ReadWrite|Inaccessible|Bind)/m);
});

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

describe.runIf(hasSystemd)('systemd', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mayfly-units-'));
    writeFileSync(join(folder, hostUnitName), hostUnit(plan));
    writeFileSync(join(folder, serviceUnitName), serviceUnit(plan));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const exposureOf = (name: string): number => {
    const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', join(folder, name)], {
      encoding: 'utf8',
    });
    return Number(/Overall exposure level for .*: ([\d.]+)/.exec(stdout)?.[1]);
  };

  test('knows every directive', () => {
    const { stderr } = spawnSync(
      'systemd-analyze',
      ['verify', join(folder, hostUnitName), join(folder, serviceUnitName)],
      {
        encoding: 'utf8',
      },
    );
    expect(stderr).not.toMatch(/Unknown|Failed to parse|Invalid/i);
  });

  test('rates the exposure of the service as low, and enables both at boot', () => {
    const [service, host] = [exposureOf(serviceUnitName), exposureOf(hostUnitName)];
    console.log(`systemd-analyze security: service ${service}, host ${host} (0 is safest, 10 most exposed)`);
    expect(service).toBeLessThan(2);
    expect(host).toBeLessThan(8.5);
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
