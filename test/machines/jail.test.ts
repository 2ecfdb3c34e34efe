import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { QmpClient } from '#server/machines/qemu/qmp/qmp-client.ts';
import { connectUnix } from '#server/system/unix-sockets.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

let host: TestDriver;
let one: QemuMachine;
/** Launched from a snapshot of the first. */
let other: QemuMachine;
beforeAll(async () => {
  host = await createTestDriver();
  one = await host.driver.launch({ id: 'one', size: 'small' });
  await one.save('snap_jail');
  other = await host.driver.launch({ id: 'other', size: 'small', snapshotId: 'snap_jail' });
});
afterAll(async () => {
  await Promise.all([one.destroy(), other.destroy()]);
  await host.remove();
});

/** The folder with the template of small machines, in the data folder. */
async function baseFolder(): Promise<string> {
  const folder = join(dirname(host.machinesDir), 'bases');
  const names = (await readdir(folder)).filter((name) => name.startsWith('small-'));
  expect(names).toHaveLength(1);
  return join(folder, names[0] ?? '');
}

/** The fields of /proc/<pid>/status. */
async function statusOf(pid: number): Promise<Record<string, string>> {
  return Object.fromEntries(
    (await readFile(`/proc/${pid}/status`, 'utf8')).split('\n').map((line) => {
      const [name = '', value = ''] = line.split(':\t');
      return [name, value.trim()];
    }),
  );
}

it('QEMU runs under its own uid, with seccomp, no_new_privs and no capabilities, also from a snapshot', async () => {
  const uids = new Set<string | undefined>();
  for (const { id, pid } of [one, other]) {
    const status = await statusOf(pid);
    const { Uid, Seccomp, NoNewPrivs, CapBnd } = status;
    console.log(`${id}: Uid ${Uid}, Seccomp ${Seccomp}, NoNewPrivs ${NoNewPrivs}, CapBnd ${CapBnd}`);
    expect(Number(Uid?.split('\t')[0])).toBeGreaterThan(1_000_000);
    uids.add(Uid);
    expect(status).toMatchObject({ Seccomp: '2', NoNewPrivs: '1', Groups: '' });
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expect(status[set]).toBe('0000000000000000');
    expect(await readFile(`/proc/${pid}/limits`, 'utf8')).toMatch(/Max core file size\s+0\s+0/);
    expect(await readFile(`/proc/${pid}/cgroup`, 'utf8')).toMatch(new RegExp(`mayfly/[0-9a-f]+/${id}`));
  }
  expect(uids.size).toBe(2);
});

it("reserves no memory at its start, so that a machine may be larger than the host's free memory", async () => {
  const ramPath = join(await baseFolder(), 'ram.0');
  const maps = (await readFile(`/proc/${one.pid}/smaps`, 'utf8')).split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const ram = maps.find((map) => map.includes(ramPath));
  expect(ram).toBeDefined();
  // "nr": the kernel does not count the mapping against the memory that it has.
  expect(/^VmFlags:(.*)$/m.exec(ram ?? '')?.[1]?.split(' ')).toContain('nr');
});

const isRefused = /Read-only file system|Permission denied/;

/** Opens files through the monitor of a machine, until it is closed. */
async function openThroughMonitor(machine: QemuMachine) {
  machine.detach();
  const path = join(host.machinesDir, machine.id, 'qmp');
  const qmp = new QmpClient(await connectUnix(path, AbortSignal.timeout(10_000)));
  await qmp.negotiate();
  const open = (filename: string, readOnly: boolean) =>
    qmp.execute('blockdev-add', {
      driver: 'file',
      'node-name': 'tried',
      filename,
      'read-only': readOnly,
      locking: 'off',
    });
  return { open, close: () => qmp.close() };
}

it('QEMU, even when told to by its monitor, can neither write to the template nor open a file of another machine or the host', async () => {
  const { open, close } = await openThroughMonitor(one);
  const base = await baseFolder();
  for (const name of ['disk.0', 'disk.1', 'ram.0', 'state']) {
    await expect(open(join(base, name), false)).rejects.toThrow(isRefused);
  }
  await expect(open(join(host.machinesDir, 'other/disk.qcow2'), true)).rejects.toThrow('No such file');
  await expect(open('/etc/passwd', true)).rejects.toThrow('No such file');
  await open(join(host.machinesDir, 'one/disk.qcow2'), true);
  close();
});

it('QEMU of a copy can neither write to the files that it shares with its snapshot nor open those of the snapshot, another machine or the host', async () => {
  const { open, close } = await openThroughMonitor(other);
  const origin = join(host.machinesDir, 'other/origin');
  const names = await readdir(origin);
  expect(names).toEqual(expect.arrayContaining(['disk.0', 'disk.1', 'disk.2', 'ram.0', 'ram.1', 'ram.plan', 'state']));
  for (const name of names) await expect(open(join(origin, name), false)).rejects.toThrow(isRefused);
  const snapshot = join(dirname(host.machinesDir), 'snapshots/snap_jail');
  for (const path of [join(snapshot, 'ram.1'), join(host.machinesDir, 'one/disk.qcow2'), '/etc/passwd']) {
    await expect(open(path, true)).rejects.toThrow('No such file');
  }
  await open(join(origin, 'disk.2'), true);
  close();
});
