import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyProbe, parseAttempts } from '../../../../test/confinement/probe.ts';
import { findProgram } from '../../../system/run-program.ts';
import { connectUnix } from '../../../system/unix-sockets.ts';
import { QmpClient } from '../qmp/qmp-client.ts';
import { detectCgroups } from './cgroup-layout.ts';
import { machineLimits } from './cgroup-limits.ts';
import { Cgroups } from './cgroups.ts';
import { writesNamedFile } from './proc.ts';
import { ProcessKiller } from './process-killer.ts';
import { jailSpec, qemuBinds } from './spec.ts';
import { type UidLease, UidLeases } from './uid-leases.ts';

const arch = process.arch === 'x64' ? 'x64' : 'arm64';
const jailSource = join(import.meta.dirname, '../../../../../../native/jail');
const guestBytes = 256 * 1024 * 1024;
const program = await findProgram(arch === 'x64' ? 'qemu-system-x86_64' : 'qemu-system-aarch64').catch(() => undefined);
const go = process.env.MAYFLY_TEST_GO ?? (await findProgram('go').catch(() => undefined));

describe.runIf(program && go && process.getuid?.() === 0)('QEMU in its jail', () => {
  let base = '';
  let own = '';
  let jail = '';
  let lease: UidLease;
  let leases: UidLeases;
  let cgroups: Cgroups;
  let qemu: ChildProcess;
  let ended: Promise<unknown[]>;
  let qmp: QmpClient;

  const proc = (name: string): Promise<string> => readFile(`/proc/${qemu.pid}/${name}`, 'utf8');
  /** Makes QEMU open a file of the host. */
  const openInQemu = (filename: string, readOnly: boolean): Promise<unknown> =>
    qmp.execute('blockdev-add', {
      driver: 'file',
      'node-name': 'tried',
      filename,
      'read-only': readOnly,
      locking: 'off',
    });

  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'mayfly-jail-'));
    own = join(base, 'own');
    jail = join(base, 'mayfly-jail');
    await promisify(execFile)(go ?? '', ['build', '-o', jail, '.'], {
      cwd: jailSource,
      env: { ...process.env, CGO_ENABLED: '0' },
    });
    leases = new UidLeases(base, { databasePath: join(base, 'uids.db'), firstUid: 2_100_000, slots: 8 });
    lease = leases.acquire();
    cgroups = new Cgroups(await detectCgroups(), `test-jail-${process.pid}`, { killer: new ProcessKiller(jail) });
    for (const folder of ['own', 'other', 'template']) {
      await mkdir(join(base, folder));
      await writeFile(join(base, folder, 'disk'), 'x'.repeat(4096));
      // Regardless of a file's permissions, only bound files are visible and only writable binds can be written.
      await chmod(join(base, folder, 'disk'), 0o666);
    }
    await chown(join(own, 'disk'), lease.uid, lease.gid);
    await writeFile(join(base, 'template/ram'), '');
    await truncate(join(base, 'template/ram'), guestBytes);
    const templateFiles = ['disk', 'ram'].map((name) => join(base, 'template', name));
    const spec = jailSpec({
      ...lease,
      cgroupProcs: await cgroups.create('one', machineLimits(1, guestBytes)),
      listen: [{ path: join(own, 'qmp'), fd: 3 }],
      binds: qemuBinds({ arch, program: program ?? '', readOnly: templateFiles, writable: [own] }),
      devices: { kvm: false, tun: true },
      maxFileBytes: 1024 * 1024,
      program: program ?? '',
      argv: [
        ...['-machine', `${arch === 'x64' ? 'q35' : 'virt'},memory-backend=ram`, '-cpu', 'max', '-m', '256M', '-S'],
        ...['-accel', 'tcg,tb-size=32', '-nodefaults', '-no-user-config', '-display', 'none'],
        ...[
          '-object',
          `memory-backend-file,id=ram,size=256M,mem-path=${templateFiles[1]},share=off,readonly=on,rom=off`,
        ],
        ...['-object', 'rng-random,id=rng,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng'],
        ...['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
        ...['-chardev', 'socket,id=qmp,fd=3,server=on,wait=off', '-mon', 'chardev=qmp,mode=control'],
      ],
    });
    qemu = spawn(jail, [JSON.stringify(spec)], { stdio: ['ignore', 'ignore', 'pipe'] });
    qemu.stderr?.pipe(process.stderr);
    ended = once(qemu, 'exit');
    const failed = ended.then((end) => Promise.reject(new Error(`it ended with ${JSON.stringify(end)}`)));
    failed.catch(() => {});
    qmp = new QmpClient(await Promise.race([connectUnix(join(own, 'qmp'), AbortSignal.timeout(20_000)), failed]));
    await qmp.negotiate();
  }, 120_000);

  afterAll(async () => {
    if (qemu?.kill('SIGKILL')) await ended;
    await cgroups?.remove('one');
    await cgroups?.removeEmptyParents();
    leases?.[Symbol.dispose]();
    if (base) await rm(base, { recursive: true });
  });

  it('runs under its own uid without any privileges', async () => {
    const status = Object.fromEntries((await proc('status')).split('\n').map((line) => line.split(/:\s+/, 2)));
    const none = '0000000000000000';
    const ids = Array.from({ length: 4 }, () => lease.uid).join('\t');
    expect(status).toMatchObject({ Uid: ids, Gid: ids, Seccomp: '2', NoNewPrivs: '1' });
    expect(status).toMatchObject({ CapInh: none, CapPrm: none, CapEff: none, CapBnd: none, CapAmb: none });
    expect(status.Groups?.trim() ?? '').toBe('');
    expect(await proc('limits')).toMatch(/Max core file size +0 +0 /);
    expect(await proc('environ')).toBe('');
  });

  it('runs under the filter of the jail and under its own', async () => {
    const filtersIn = (status: string) => Number(/^Seccomp_filters:\s+(\d+)$/m.exec(status)?.[1]);
    const inherited = filtersIn(await readFile('/proc/self/status', 'utf8'));
    const threads = await readdir(`/proc/${qemu.pid}/task`);
    // A thread may end meanwhile.
    const statuses = await Promise.all(threads.map((thread) => proc(`task/${thread}/status`).catch(() => undefined)));
    const counts = statuses.filter((status) => status !== undefined).map((status) => filtersIn(status) - inherited);
    expect(new Set(counts)).toEqual(new Set([2]));
  });

  it('has no sockets but unix sockets', async () => {
    const addr = { type: 'inet', data: { host: '127.0.0.1', port: '0' } };
    const backend = { type: 'socket', data: { addr, server: true, wait: false } };
    await expect(qmp.execute('chardev-add', { id: 'tried', backend })).rejects.toThrow(
      /Failed to create a socket|Operation not permitted/,
    );
  });

  it('a program in its place is refused what QEMU does not need', async () => {
    const probe = await copyProbe(base);
    const attempts = {
      'use io_uring': 'function not implemented',
      'load a BPF program': 'operation not permitted',
      'handle page faults': 'operation not permitted',
      'count performance events': 'operation not permitted',
      'read a keyring': 'operation not permitted',
      'enter a namespace': 'operation not permitted',
      'make a user namespace': 'operation not permitted',
      'start a process in a user namespace': 'operation not permitted',
      'mount a file system (new calls)': 'operation not permitted',
      'open a file by its handle': 'operation not permitted',
      'attach shared memory': 'operation not permitted',
      'mark packets': 'operation not permitted',
      'reach guests by vsock': 'operation not permitted',
    };
    const spec = jailSpec({
      ...lease,
      cgroupProcs: [],
      binds: [{ path: probe, mode: 'exec' }],
      devices: { kvm: false, tun: false },
      program: probe,
      argv: [JSON.stringify({ only: Object.keys(attempts) })],
    });
    const { stdout } = await promisify(execFile)(jail, [JSON.stringify(spec)]);
    const results = parseAttempts(stdout);
    expect(results.every(({ refused }) => refused)).toBe(true);
    expect(Object.fromEntries(results.map(({ attempt, detail }) => [attempt, detail]))).toEqual(attempts);
  });

  it('is in its cgroup', async () => {
    const joined = (await proc('cgroup'))
      .split('\n')
      .filter((line) => line.endsWith(`/mayfly/test-jail-${process.pid}/one`));
    expect(joined.length).toBeGreaterThan(0);
    expect(await cgroups.list()).toEqual(['one']);
  });

  it('sees only its own files', async () => {
    const root = `/proc/${qemu.pid}/root`;
    const [top, ...folders] = base.split('/').slice(1);
    const links = ['bin', 'lib', 'lib32', 'lib64', 'libx32', 'sbin'].filter((name) => existsSync(`/${name}`));
    expect((await readdir(root)).toSorted()).toEqual(
      [...new Set([...links, 'dev', 'etc', top ?? '', 'usr'])].toSorted(),
    );
    expect(await readdir(join(root, 'etc'))).toEqual(['ld.so.cache']);
    expect((await readdir(join(root, 'dev'))).toSorted()).toEqual(['net', 'null', 'random', 'urandom', 'zero']);
    expect(await readdir(join(root, top ?? '', ...folders.slice(0, -1)))).toEqual(folders.slice(-1));
    expect((await readdir(join(root, base))).toSorted()).toEqual(['own', 'template']);
    const mounts = (await proc('mounts')).split('\n').filter((line) => line.includes(' rw,'));
    expect(mounts.map((line) => line.split(' ')[1])).toEqual([own]);
  });

  it('can write to its own disk, but neither to another machine’s nor to a template', async () => {
    await openInQemu(join(own, 'disk'), false);
    await qmp.execute('blockdev-del', { 'node-name': 'tried' });
    await openInQemu(join(base, 'template/disk'), true);
    await qmp.execute('blockdev-del', { 'node-name': 'tried' });
    await expect(openInQemu(join(base, 'template/disk'), false)).rejects.toThrow('Read-only file system');
    await expect(openInQemu(join(base, 'other/disk'), true)).rejects.toThrow('No such file or directory');
    await expect(openInQemu('/etc/passwd', true)).rejects.toThrow('No such file or directory');
  });

  it('cannot make a file larger than its limit, and survives the attempt', async () => {
    await openInQemu(join(own, 'disk'), false);
    await expect(qmp.execute('block_resize', { 'node-name': 'tried', size: 2 ** 21 })).rejects.toThrow(
      'File too large',
    );
    await qmp.execute('human-monitor-command', { 'command-line': 'qemu-io tried "write 2M 64k"' });
    await qmp.execute('blockdev-del', { 'node-name': 'tried' });
    expect((await stat(join(own, 'disk'))).size).toBeLessThanOrEqual(1024 * 1024);
    expect(qemu.exitCode ?? qemu.signalCode).toBeNull();
  });

  it('is a preferred victim of the out-of-memory killer', async () => {
    expect((await proc('oom_score_adj')).trim()).toBe('500');
  });

  it('has only a loopback interface and no other open files', async () => {
    expect((await proc('net/dev')).match(/:/g)).toHaveLength(1);
    const targets = await readdir(`/proc/${qemu.pid}/fd`);
    expect(targets.length).toBeLessThan(32);
  });

  it('is known to have lost its disk when the folder was deleted, and not when it was moved', async () => {
    const pid = qemu.pid ?? 0;
    expect(writesNamedFile(pid)).toBe(false);
    await openInQemu(join(own, 'disk'), false);
    expect(writesNamedFile(pid)).toBe(true);
    await rename(own, join(base, 'moved'));
    expect(writesNamedFile(pid)).toBe(true);
    await rm(join(base, 'moved'), { recursive: true });
    expect(writesNamedFile(pid)).toBe(false);
  });

  it('leaves nothing behind', async () => {
    qemu.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    await cgroups.remove('one');
    leases.release(lease);
    expect(await cgroups.list()).toEqual([]);
    expect(await readFile('/proc/self/mounts', 'utf8')).not.toContain(base);
  });
});
