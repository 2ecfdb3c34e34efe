import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tryLock } from '../cache/lock.ts';
import { findUsedFiles } from '../cache/prune.ts';
import { recordAddedPackages } from '../requirements/install-packages.ts';
import { type InstalledHost, uninstallFrom } from './uninstall.ts';

let root: string;
let host: InstalledHost;
let printed: string[];
let asked: string[];
let aptCalls: string[];
/** What `apt-get --simulate remove` would remove, besides the package itself. */
let dependants: Record<string, string[]>;
let answers: boolean[];
let systemctlCalls: string[];
let active: Set<string>;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'mayfly-uninstall-'));
  [printed, asked, aptCalls, dependants, answers] = [[], [], [], {}, []];
  [systemctlCalls, active] = [[], new Set()];
  host = {
    cacheDir: join(root, 'cache'),
    dataDir: join(root, 'data'),
    binDir: join(root, 'bin'),
    stateDir: join(root, 'run'),
    sourcesPath: join(root, 'mayfly-backports.sources'),
    apt: (args) => {
      if (args[0] !== '--simulate') aptCalls.push(args.join(' '));
      const name = args.at(-1) ?? '';
      return Promise.resolve([name, ...(dependants[name] ?? [])].map((each) => `Remv ${each} [1.0]\n`).join(''));
    },
    installed: () => Promise.resolve(new Set(['dpkg', 'qemu-utils', 'nftables', 'libvirt-daemon'])),
    findUsed: () => Promise.resolve({ open: new Set<string>(), mapped: new Set<number>() }),
    takeDownNetwork: () => Promise.resolve(true),
    findUser: () => Promise.resolve(undefined),
    removeUser: () => Promise.reject(new Error('there is no user')),
    systemd: {
      unitDir: join(root, 'units'),
      environmentFile: join(root, 'etc/mayfly.env'),
      isRoot: true,
      isRunning: true,
      trusted: { uids: [], gids: [] },
      systemctl: (...args) => {
        systemctlCalls.push(args.join(' '));
        if (args[0] === 'stop') active.clear();
        return Promise.resolve();
      },
      isActive: (name) => Promise.resolve(active.has(name)),
      isReady: () => Promise.resolve(true),
    },
    ask: (question) => {
      asked.push(question);
      return Promise.resolve(answers.shift() ?? false);
    },
    print: (line) => void printed.push(line),
  };
  const entry = join(host.cacheDir, 'kernel', '0123456789abcdef');
  for (const folder of [entry, join(host.cacheDir, 'go-build'), join(host.dataDir, 'machines'), host.stateDir]) {
    await mkdir(folder, { recursive: true });
  }
  await writeFile(join(entry, 'manifest.json'), '{}');
  await writeFile(join(host.dataDir, 'mayfly.db'), '');
  await writeFile(join(host.dataDir, 'mayfly.db-wal'), '');
  await writeFile(host.sourcesPath, 'Types: deb\n');
  await recordAddedPackages(host.cacheDir, ['qemu-utils', 'nftables', 'mmdebstrap']);
});
afterEach(() => rm(root, { recursive: true }));

test('with --yes it removes the cache, the apt source, the network and the packages that set-up installed; the data stays', async () => {
  expect(await uninstallFrom(['--yes'], host)).toBe(0);
  expect(await readdir(root)).toEqual(['data']);
  expect(await readdir(host.dataDir)).toContain('mayfly.db');
  expect(aptCalls).toEqual(['remove --yes nftables qemu-utils']);
  expect(asked).toEqual([]);
  expect(printed.join('\n')).toContain(`The data folder ${host.dataDir} is kept. To remove it too, add --data.`);
});

test('it removes the system user that set-up created, after the data folder if that goes too', async () => {
  const user = { uid: 998, gid: 998, comment: '', home: '/nonexistent', shell: '/usr/sbin/nologin' };
  const removed: string[] = [];
  host = {
    ...host,
    findUser: () => Promise.resolve(user),
    removeUser: ({ uid }, dataDir) => Promise.resolve(void removed.push(`${uid} ${dataDir} ${existsSync(dataDir)}`)),
  };
  answers = [false];
  await uninstallFrom([], host);
  expect(removed).toEqual([]);
  await uninstallFrom(['--yes'], host);
  await uninstallFrom(['--yes', '--data'], host);
  expect(removed).toEqual([`998 ${host.dataDir} true`, `998 ${host.dataDir} false`]);
  expect(printed).toContain('  • the system user mayfly');
});

describe('under systemd', () => {
  beforeEach(async () => {
    await mkdir(host.systemd.unitDir);
    await mkdir(join(root, 'etc'));
    await writeFile(host.systemd.environmentFile, '');
    for (const name of ['mayfly.service', 'mayfly-host.service', 'mayfly-api.socket', 'ssh.service']) {
      await writeFile(join(host.systemd.unitDir, name), '');
    }
    active = new Set(['mayfly.service', 'mayfly-host.service']);
  });

  test('the units are stopped, disabled and removed; their settings go with the data', async () => {
    expect(await uninstallFrom(['--yes'], host)).toBe(0);
    const names = 'mayfly.service mayfly-api.socket mayfly-host.service';
    expect(printed).toContain(`  • the systemd units ${names.replaceAll(' ', ', ')}, which are stopped first`);
    expect(systemctlCalls).toEqual([`stop ${names}`, `disable --now ${names}`, 'daemon-reload']);
    expect(await readdir(host.systemd.unitDir)).toEqual(['ssh.service']);
    expect(existsSync(host.systemd.environmentFile)).toBe(true);
    expect(await uninstallFrom(['--yes', '--data'], host)).toBe(0);
    expect(existsSync(join(root, 'etc'))).toBe(false);
  });

  test('they are started again if sandboxes are still running', async () => {
    const file = await open(join(host.cacheDir, 'kernel/0123456789abcdef/manifest.json'));
    expect(await uninstallFrom(['--yes'], { ...host, findUsed: findUsedFiles })).toBe(1);
    await file.close();
    expect(systemctlCalls.at(-1)).toBe('start mayfly.service mayfly-host.service');
    expect(printed.join('\n')).toContain('run npm run destroy');
    expect(await readdir(host.systemd.unitDir)).toHaveLength(4);
  });

  test('nothing is stopped before the operator agreed', async () => {
    answers = [false];
    expect(await uninstallFrom([], host)).toBe(1);
    expect(systemctlCalls).toEqual([]);
  });
});

test('--data removes the data folder too, but nothing that the service did not create', async () => {
  await uninstallFrom(['--yes', '--data'], host);
  expect(existsSync(host.dataDir)).toBe(false);
  await mkdir(host.dataDir);
  await writeFile(join(host.dataDir, 'mayfly.db'), '');
  await writeFile(join(host.dataDir, 'thesis.txt'), '');
  await uninstallFrom(['--yes', '--data'], host);
  expect(await readdir(host.dataDir)).toEqual(['thesis.txt']);
  expect(printed.join('\n')).toContain(`${host.dataDir} is kept, because it contains: thesis.txt`);
});

test('it asks first, and separately for packages', async () => {
  answers = [false];
  expect(await uninstallFrom([], host)).toBe(1);
  expect(existsSync(join(host.cacheDir, 'kernel'))).toBe(true);
  answers = [true, false];
  expect(await uninstallFrom([], host)).toBe(0);
  expect(asked).toEqual(['Uninstall Mayfly?', 'Uninstall Mayfly?', 'Remove these Debian packages too?']);
  expect(aptCalls).toEqual([]);
  // The record stays, so that the packages can still be removed later.
  expect(await readdir(host.cacheDir)).toEqual(['installed-packages']);
});

test('without a terminal it refuses unless --yes is given', async () => {
  expect(await uninstallFrom([], { ...host, ask: undefined })).toBe(2);
  expect(printed.at(-1)).toContain('npm run uninstall -- --yes');
  expect(existsSync(join(host.cacheDir, 'kernel'))).toBe(true);
});

test('a package that something else needs is kept', async () => {
  dependants = { 'qemu-utils': ['libvirt-daemon'] };
  expect(await uninstallFrom(['--yes'], host)).toBe(0);
  expect(aptCalls).toEqual(['remove --yes nftables']);
  expect(printed[0]).toBe('The Debian package qemu-utils is kept, because these need it: libvirt-daemon.');
});

test('it refuses while a service uses the data folder', async () => {
  using _service = await tryLock(join(host.dataDir, 'lock'));
  expect(await uninstallFrom(['--yes'], host)).toBe(1);
  expect(printed.join('\n')).toContain(`A service is using the data folder ${host.dataDir}. Stop it`);
  expect(existsSync(join(host.cacheDir, 'kernel'))).toBe(true);
});

test('it refuses while a sandbox uses the cache', async () => {
  const file = await open(join(host.cacheDir, 'kernel', '0123456789abcdef', 'manifest.json'));
  expect(await uninstallFrom(['--yes'], { ...host, findUsed: findUsedFiles })).toBe(1);
  await file.close();
  expect(printed.join('\n')).toContain('run npm run destroy');
  expect(await uninstallFrom(['--yes'], host)).toBe(0);
});

test('it changes nothing when the network of machines is still in use', async () => {
  expect(await uninstallFrom(['--yes'], { ...host, takeDownNetwork: () => Promise.resolve(false) })).toBe(1);
  expect(existsSync(host.stateDir)).toBe(true);
  expect(existsSync(join(host.cacheDir, 'kernel'))).toBe(true);
});

test('an unknown option is explained', async () => {
  expect(await uninstallFrom(['--force'], host)).toBe(2);
  expect(printed.join('\n')).toContain('Usage: npm run uninstall');
});
