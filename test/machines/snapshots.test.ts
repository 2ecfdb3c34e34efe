import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { GuestAgent } from '#server/core/ports/guest-agent.ts';
import { SnapshotUnusable } from '#server/core/ports/machine-driver.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { describeFault, FaultySteps, faultsOf, someFaultsOf } from '../support/fault-injection.ts';
import { length } from '../support/length.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

const launchMs = 300_000;
const commandMs = 150_000;

let host: TestDriver;
const steps = new FaultySteps();
const machines: QemuMachine[] = [];
const agents: GuestAgent[] = [];
const connector = createGuestConnector();
let counter = 0;
/**
 * A machine that was saved more often than this has had its disk and its memory stored again. With fewer than five layers, already the second
 * save of a machine would store its disk again, and share nothing with the first.
 */
const maxLayers = length(5, 8);
/** Random bytes that a snapshot has to keep. */
const dataMib = length(8, 32);

beforeAll(async () => {
  host = await createTestDriver({ step: steps.step, maxSnapshotLayers: maxLayers });
}, launchMs);
afterAll(async () => {
  await host.remove();
});
afterEach(async () => {
  steps.arm([]);
  for (const agent of agents.splice(0)) agent.close();
  await Promise.all(machines.splice(0).map((machine) => machine.destroy()));
  for (const { id } of await host.driver.snapshots()) await host.driver.deleteSnapshot(id);
  expect(await host.leftovers()).toEqual([]);
  expect(await readdir(snapshotsDir())).toEqual([]);
}, launchMs);

function snapshotsDir(): string {
  return join(dirname(host.machinesDir), 'snapshots');
}

async function launch(snapshotId?: string): Promise<QemuMachine> {
  counter += 1;
  const machine = await host.driver.launch({ id: `snap-${process.pid}-${counter}`, size: 'small', snapshotId });
  machines.push(machine);
  return machine;
}

async function attach(machine: QemuMachine): Promise<GuestAgent> {
  const agent = await connector.attach(machine, launchMs);
  agents.push(agent);
  return agent;
}

async function run(agent: GuestAgent, command: string): Promise<string> {
  counter += 1;
  const id = `exec_snap${counter}`;
  const request = { id, command, cwd: '/workspace', env: {}, timeoutMs: commandMs, captureBytes: 10_000 };
  const { exitCode, timedOut, stdout, stderr } = await agent.execute(request);
  await agent.forgetExecution(id);
  const end = timedOut ? `did not end within ${commandMs} ms` : `ended with ${exitCode}`;
  if (exitCode !== 0) throw new Error(`${command} ${end}: ${stderr.toString()}`);
  return stdout.toString().trim();
}

/**
 * Starts a process that counts in its memory, and tells its number whenever it gets SIGUSR1. It counts slowly: in an emulated machine every
 * process that it starts costs a tenth of that time. The next command may send the signal, which would end a process that has no trap yet.
 */
const startCounter = `cat > count.sh <<'END'
n=0
trap 'echo "$n" > answer.new; mv answer.new answer' USR1
echo > ready
while :; do n=$((n+1)); sleep 0.2; done
END
setsid bash count.sh > /dev/null 2>&1 < /dev/null & echo $! > counter.pid
until [ -s ready ]; do sleep 0.1; done`;

async function askCounter(agent: GuestAgent): Promise<number> {
  const ask = 'rm -f answer; kill -USR1 $(cat counter.pid); until [ -s answer ]; do sleep 0.1; done; cat answer';
  return Number(await run(agent, ask));
}

/** The files with memory that a machine maps, by device and inode. */
async function mappedMemoryFiles({ pid }: QemuMachine): Promise<string[]> {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8');
  const files = [...maps.matchAll(/ (\S+ \d+) +\S+\/ram\.\d+$/gm)].map(([, file]) => file ?? '');
  return [...new Set(files)].sort();
}

it('copies have the memory and the disk of the instant, and the original goes on; a second save, a pause, an id in use and another size are refused', async () => {
  const original = await launch();
  const agent = await attach(original);
  const fill = `echo before > file; head -c ${dataMib}M /dev/urandom > /dev/shm/filled; sha256sum /dev/shm/filled`;
  const sum = await run(agent, `${startCounter}\n${fill}`);
  const counted = await askCounter(agent);
  const saved = original.save('snap_one');
  await expect(original.save('snap_two')).rejects.toThrow('is being saved');
  await expect(original.pause()).rejects.toThrow('is being saved');
  const { snapshot, pausedMs } = await saved;
  console.log(`paused ${pausedMs} ms;`, JSON.stringify(snapshot.files));
  await expect(original.save('snap_one')).rejects.toThrow('There is already a snapshot snap_one');
  const large = host.driver.launch({ id: 'other-size', size: 'medium', snapshotId: 'snap_one' });
  await expect(large).rejects.toBeInstanceOf(SnapshotUnusable);
  expect(await host.driver.snapshots()).toEqual([snapshot]);
  expect(await run(agent, 'echo after > file; cat file')).toBe('after');
  expect(await askCounter(agent)).toBeGreaterThan(counted);
  agent.close();
  const copies = await Promise.all([launch('snap_one'), launch('snap_one')]);
  // Both use the same two files: the template's and what the snapshot changed in it.
  const [files, others] = await Promise.all(copies.map(mappedMemoryFiles));
  expect(files).toHaveLength(2);
  expect(others).toEqual(files);
  for (const copy of copies) {
    const copied = await attach(copy);
    expect(await run(copied, 'cat file; sha256sum /dev/shm/filled')).toBe(`before\n${sum}`);
    const first = await askCounter(copied);
    expect(first).toBeGreaterThanOrEqual(counted);
    expect(await askCounter(copied)).toBeGreaterThan(first);
    await run(copied, `echo ${copy.id} > file && sync`);
  }
  expect(await run(await attach(original), 'cat file')).toBe('after');
});

it('refuses snapshots that do not exist', async () => {
  await expect(launch('snap_unknown')).rejects.toThrow('There is no snapshot snap_unknown on this host.');
});

it('snapshots of a copy and of its original share what they have in common and outlive their parents, and many layers of disk and memory are stored again, with the same content', async () => {
  const original = await launch();
  const agent = await attach(original);
  await run(agent, `head -c ${dataMib}M /dev/urandom > big; sha256sum big > sums; sync`);
  const first = await original.save('snap_parent');
  await run(agent, 'echo second > step');
  const second = await original.save('snap_second');
  const ownBytes = (files: readonly { id: string; bytes: number }[], parents: readonly { id: string }[]) =>
    files.filter(({ id }) => !parents.some((parent) => parent.id === id)).reduce((sum, { bytes }) => sum + bytes, 0);
  const [all, added] = [ownBytes(first.snapshot.files, []), ownBytes(second.snapshot.files, first.snapshot.files)];
  console.log(`first snapshot ${all} bytes, second ${added} more`);
  expect(all).toBeGreaterThan(dataMib * 1024 ** 2);
  expect(added).toBeLessThan(all / 2);
  const fileOf = (id: string, name: string) => stat(join(snapshotsDir(), id, name));
  for (const name of ['ram.1', 'disk.2']) {
    expect([name, (await fileOf('snap_second', name)).ino]).toEqual([name, (await fileOf('snap_parent', name)).ino]);
  }
  // The layer of what was written to the disk between the two, without what was on it before.
  const ownDiskBytes = (await fileOf('snap_second', 'disk.3')).blocks * 512;
  console.log(`${ownDiskBytes} bytes of that on the disk`);
  expect(ownDiskBytes).toBeLessThan(dataMib * 1024 ** 2);

  const copy = await launch('snap_second');
  const copied = await attach(copy);
  expect(await run(copied, 'cat step; echo third > step')).toBe('second');
  await copy.save('snap_child');
  copied.close();
  await host.driver.deleteSnapshot('snap_parent');
  await host.driver.deleteSnapshot('snap_second');
  await copy.destroy();
  const grandchild = await launch('snap_child');
  const saved = await attach(grandchild);
  expect(await run(saved, 'cat step; sha256sum -c sums')).toBe('third\nbig: OK');
  expect(await run(agent, 'cat step')).toBe('second');
  agent.close();
  await original.destroy();

  // It has the layers of three snapshots already. At full length it is saved as often as a machine that has none.
  const rounds = length(3, maxLayers + 2);
  const fileCounts: number[] = [];
  let newest = 'snap_child';
  for (let round = 0; round < rounds; round += 1) {
    await run(saved, `head -c 1M /dev/urandom > round${round}; sha256sum round${round} >> sums`);
    const startedMs = performance.now();
    const { snapshot, pausedMs } = await grandchild.save(`snap_${round}`);
    const tookMs = Math.round(performance.now() - startedMs);
    await host.driver.deleteSnapshot(newest);
    newest = snapshot.id;
    const bytes = snapshot.files.reduce((sum, file) => sum + file.bytes, 0);
    console.log(`save ${round}: paused ${pausedMs} ms of ${tookMs} ms, ${snapshot.files.length} files, ${bytes} bytes`);
    expect(snapshot.files.length).toBeLessThanOrEqual(2 * maxLayers + 4);
    fileCounts.push(snapshot.files.length);
  }
  // A save has more layers than the one before it, unless they were stored again.
  expect(Math.min(...fileCounts)).toBeLessThan(fileCounts[0] ?? 0);
  const last = await attach(await launch(newest));
  expect(await run(last, 'sha256sum --quiet -c sums && echo same')).toBe('same');
  expect(await run(saved, 'sha256sum --quiet -c sums && echo same')).toBe('same');
}, 900_000);

it('a machine that is destroyed while it is saved leaves neither itself nor a snapshot', async () => {
  const machine = await launch();
  const failed = machine.save('snap_lost').catch((error: unknown) => error);
  await machine.destroy();
  expect(await failed).toBeInstanceOf(Error);
  expect(await readdir(snapshotsDir())).toEqual([]);
});

it('a paused machine is saved and stays paused, and a save that fails at any step leaves a machine that goes on, no snapshot and no file', async () => {
  const machine = await launch();
  const agent = await attach(machine);
  await run(agent, `${startCounter}\necho kept > file`);
  await machine.pause();
  const faults = length(someFaultsOf, faultsOf)(await steps.record(() => machine.save('snap_paused')));
  let answered = false;
  const hello = agent.hello().then(() => {
    answered = true;
  });
  const copy = await launch('snap_paused');
  const copied = await attach(copy);
  expect(await run(copied, 'cat file')).toBe('kept');
  expect(answered).toBe(false);
  await machine.resume();
  await hello;
  copied.close();
  await copy.destroy();
  expect(await run(agent, 'cat file')).toBe('kept');
  await host.driver.deleteSnapshot('snap_paused');

  let counted = await askCounter(agent);
  for (const fault of faults) {
    steps.arm([fault]);
    await expect(machine.save('snap_failed')).rejects.toThrow(`injected ${describeFault(fault)}`);
    expect(steps.armed).toEqual([]);
    const next = await askCounter(agent);
    expect(next).toBeGreaterThan(counted);
    counted = next;
    expect([describeFault(fault), await readdir(snapshotsDir())]).toEqual([describeFault(fault), []]);
    const files = await readdir(join(host.machinesDir, machine.id));
    expect(files.filter((name) => /^memory$|^stopped$|\.(?:new|old)$/.test(name))).toEqual([]);
  }
  await run(agent, 'echo after > file');
  await machine.save('snap_after');
  expect(await run(await attach(await launch('snap_after')), 'cat file')).toBe('after');
  console.log(`${faults.length} failed saves left nothing`);
}, 1_200_000);

it('machines go on after a restart of the driver, can be saved again, and were not left standing still', async () => {
  const machine = await launch();
  const agent = await attach(machine);
  await run(agent, startCounter);
  const counted = await askCounter(agent);
  const failed = machine.save('snap_interrupted').catch((error: unknown) => String(error));
  agent.close();
  machine.detach();
  expect(await failed).toContain('The save was cancelled.');
  machines.splice(0);
  // As if QEMU was upgraded since the launch.
  const recordPath = join(host.machinesDir, machine.id, 'machine.json');
  const record = JSON.parse(await readFile(recordPath, 'utf8')) as { requirements: object };
  const requirements = { ...record.requirements, qemuVersion: '9.9.9' };
  await writeFile(recordPath, JSON.stringify({ ...record, requirements }));
  machines.push(...(await host.reopen()));
  const [adopted] = machines;
  if (adopted === undefined) throw new Error('the machine was not adopted');
  expect(await host.driver.snapshots()).toEqual([]);
  expect(await askCounter(await attach(adopted))).toBeGreaterThan(counted);
  await adopted.save('snap_adopted');
  const manifest: unknown = JSON.parse(await readFile(join(snapshotsDir(), 'snap_adopted', 'snapshot.json'), 'utf8'));
  expect(manifest).toMatchObject(requirements);
  const copy = await attach(await launch('snap_adopted'));
  expect(await askCounter(copy)).toBeGreaterThan(counted);
});

it('what interrupted saves and deletions left is removed at the next start', async () => {
  const other = await createTestDriver();
  try {
    const dataDir = dirname(other.machinesDir);
    for (const name of ['snap_a.partial', 'snap_b.deleted']) {
      await mkdir(join(dataDir, 'snapshots', name));
      await writeFile(join(dataDir, 'snapshots', name, 'ram.1'), 'half');
    }
    await mkdir(join(dataDir, 'bases', 'small-0123456789abcdef'));
    await other.reopen();
    expect(await readdir(join(dataDir, 'snapshots'))).toEqual([]);
    expect(await stat(join(dataDir, 'bases', 'small-0123456789abcdef')).catch(() => 'gone')).toBe('gone');
  } finally {
    await other.remove();
  }
});
