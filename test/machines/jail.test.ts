import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { QmpClient } from '#server/machines/qemu/qmp/qmp-client.ts';
import { connectUnix } from '#server/system/unix-sockets.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

let host: TestDriver;
let one: Awaited<ReturnType<TestDriver['driver']['launch']>>;
let other: typeof one;
beforeAll(async () => {
  host = await createTestDriver();
  one = await host.driver.launch({ id: 'one', size: 'small' });
  other = await host.driver.launch({ id: 'other', size: 'small' });
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

it('QEMU runs under its own uid, with seccomp, no_new_privs and no capabilities', async () => {
  const [status, otherStatus] = [await statusOf(one.pid), await statusOf(other.pid)];
  console.log(`Uid ${status.Uid}, Seccomp ${status.Seccomp}, NoNewPrivs ${status.NoNewPrivs}, CapBnd ${status.CapBnd}`);
  expect(Number(status.Uid?.split('\t')[0])).toBeGreaterThan(1_000_000);
  expect(status.Uid).not.toBe(otherStatus.Uid);
  expect(status).toMatchObject({ Seccomp: '2', NoNewPrivs: '1', Groups: '' });
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) expect(status[set]).toBe('0000000000000000');
  expect(await readFile(`/proc/${one.pid}/limits`, 'utf8')).toMatch(/Max core file size\s+0\s+0/);
  expect(await readFile(`/proc/${one.pid}/cgroup`, 'utf8')).toMatch(/mayfly\/[0-9a-f]+\/one/);
});

it("reserves no memory at its start, so that a machine may be larger than the host's free memory", async () => {
  const ramPath = join(await baseFolder(), 'ram.0');
  const maps = (await readFile(`/proc/${one.pid}/smaps`, 'utf8')).split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  const ram = maps.find((map) => map.includes(ramPath));
  expect(ram).toBeDefined();
  // "nr": the kernel does not count the mapping against the memory that it has.
  expect(/^VmFlags:(.*)$/m.exec(ram ?? '')?.[1]?.split(' ')).toContain('nr');
});

it('QEMU, even when told to by its monitor, can neither write to the template nor open a file of another machine or the host', async () => {
  one.detach();
  const qmp = new QmpClient(await connectUnix(join(host.machinesDir, 'one/qmp'), AbortSignal.timeout(10_000)));
  await qmp.negotiate();
  const open = (filename: string, readOnly: boolean) =>
    qmp.execute('blockdev-add', {
      driver: 'file',
      'node-name': 'tried',
      filename,
      'read-only': readOnly,
      locking: 'off',
    });
  const base = await baseFolder();
  for (const name of ['disk.0', 'disk.1', 'ram.0', 'state']) {
    await expect(open(join(base, name), false)).rejects.toThrow(/Read-only file system|Permission denied/);
  }
  await expect(open(join(host.machinesDir, 'other/disk.qcow2'), true)).rejects.toThrow('No such file');
  await expect(open('/etc/passwd', true)).rejects.toThrow('No such file');
  await open(join(host.machinesDir, 'one/disk.qcow2'), true);
  qmp.close();
});
