import { spawnSync } from 'node:child_process';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { GuestAgent } from '#server/core/ports/guest-agent.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { preparedHost } from '../support/prepared-host.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

const attachMs = 300_000;
let host: TestDriver;
let machine: QemuMachine;
let agent: GuestAgent;
let launchStartedMs: number;
beforeAll(async () => {
  host = await createTestDriver();
  launchStartedMs = performance.now();
  machine = await host.driver.launch({ id: 'kvm', size: 'small' });
  agent = await createGuestConnector().attach(machine, attachMs);
});
afterAll(async () => {
  agent?.close();
  await machine?.destroy();
  await host?.remove();
});

let executions = 0;
/** The trimmed output of a command in the guest. */
async function run(command: string, on = agent): Promise<string> {
  executions += 1;
  const request = { command, cwd: '/', env: {}, timeoutMs: 300_000, captureBytes: 65_536 };
  return (await on.execute({ id: `exec_${executions}`, ...request })).stdout.toString().trim();
}

async function statusField(name: string): Promise<string | undefined> {
  const text = await readFile(`/proc/${machine.pid}/status`, 'utf8');
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(text)?.[1];
}

describe('the accelerator', () => {
  it('is KVM: QEMU holds a virtual machine and a descriptor for each of its CPUs', async () => {
    expect(preparedHost().engine).toMatchObject({ acceleration: 'kvm', kvmWarning: undefined });
    const folder = `/proc/${machine.pid}/fd`;
    const targets = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')));
    const held = ['anon_inode:kvm-vcpu:0', 'anon_inode:kvm-vcpu:1', 'anon_inode:kvm-vm'];
    expect(targets).toEqual(expect.arrayContaining(held));
    expect(targets).not.toContain('anon_inode:kvm-vcpu:2');
  });

  it('gives the guest the CPU of the host', async () => {
    const fields = /^(?:vendor_id|model name|CPU implementer|CPU part|CPU variant)\s*:.*$/gm;
    const ofHost = new Set((await readFile('/proc/cpuinfo', 'utf8')).match(fields));
    const ofGuest = new Set((await run('cat /proc/cpuinfo')).match(fields));
    console.log([...ofGuest].join('; '));
    expect(ofGuest.size).toBeGreaterThan(0);
    expect(ofGuest).toEqual(ofHost);
  });

  it('leaves the mitigations of the guest kernel on', async () => {
    expect(await run('cat /proc/cmdline')).not.toContain('mitigations');
    const vulnerabilities = await run('grep -H . /sys/devices/system/cpu/vulnerabilities/*');
    console.log(vulnerabilities.replaceAll('/sys/devices/system/cpu/vulnerabilities/', ''));
    expect(vulnerabilities).toMatch(/spectre_v1:(?:Mitigation|Not affected)/);
  });
});

describe('the jail', () => {
  /** Opens the device in the machine's jail for reading and writing as a user; true if that works. */
  function canOpen(uid: number): boolean {
    // Root opens the folder, so that only the rights of the device decide.
    const script = `exec 4<"/proc/${machine.pid}/root/dev"; exec setpriv --reuid ${uid} --regid ${uid} --clear-groups sh -c 'exec 3<>/proc/self/fd/4/kvm'`;
    return spawnSync('sh', ['-c', script]).status === 0;
  }

  it("lets only the machine's own user open /dev/kvm", async () => {
    const own = Number((await statusField('Uid'))?.split('\t')[0]);
    const device = await stat(`/proc/${machine.pid}/root/dev/kvm`);
    expect({ uid: device.uid, mode: device.mode & 0o777 }).toEqual({ uid: own, mode: 0o600 });
    expect(device.rdev).toBe((await stat('/dev/kvm')).rdev);
    expect([canOpen(own), canOpen(own + 1), canOpen(65534)]).toEqual([true, false, false]);
  });

  it("does not change the rights of the host's own /dev/kvm", async () => {
    const own = Number((await statusField('Uid'))?.split('\t')[0]);
    expect((await stat('/dev/kvm')).uid).not.toBe(own);
  });

  it('keeps seccomp, no_new_privs and an empty set of capabilities with KVM', async () => {
    expect(await statusField('Seccomp')).toBe('2');
    expect(await statusField('NoNewPrivs')).toBe('1');
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
      expect(await statusField(set)).toBe('0000000000000000');
    }
  });

  it('locks no memory, and KVM needs none', async () => {
    expect(await statusField('VmLck')).toBe('0 kB');
    expect(await readFile(`/proc/${machine.pid}/limits`, 'utf8')).toMatch(/Max locked memory\s+0\s+0/);
  });
});

/** The host name of the sandbox that the machines from the snapshot serve. */
const sandboxName = 'kvm-copy';

/** A machine from the snapshot, with the identity of the sandbox. */
async function launchSaved(id: string) {
  const saved = await host.driver.launch({ id, size: 'small', snapshotId: 'snap_kvm' });
  onTestFinished(() => saved.destroy());
  const attached = await createGuestConnector().attach(saved, attachMs);
  await attached.setIdentity({
    hostname: sandboxName,
    machineId: '0123456789abcdef0123456789abcdef',
    expiresAtMs: 0,
  });
  return { machine: saved, agent: attached };
}

async function expectSavedState(on: GuestAgent): Promise<void> {
  const look = 'cat /workspace/mark; pgrep -xc sleep; hostname; date +%s%3N';
  const [mark, sleeping, hostname, dateMs] = (await run(look, on)).split('\n');
  expect([mark, sleeping, hostname]).toEqual(['kept', '1', sandboxName]);
  // An emulated outer machine answers within seconds.
  expect(Math.abs(Number(dateMs) - Date.now())).toBeLessThan(60_000);
}

it('a machine can be saved, copied, and replaced by its saved state', async () => {
  const start = 'echo kept > /workspace/mark; (sleep 86399 >/dev/null 2>&1 &)';
  expect(await run(`${start}; cat /workspace/mark`)).toBe('kept');
  const { snapshot, pausedMs } = await machine.save('snap_kvm');
  console.log(`saved on KVM: paused ${pausedMs} ms, ${JSON.stringify(snapshot.files)}`);
  const lose = 'rm /workspace/mark; pkill -xc sleep';
  expect(await run(lose)).toBe('1');
  const copy = await launchSaved('kvm-copy');
  await expectSavedState(copy.agent);
  expect(await run(lose, copy.agent)).toBe('1');
  // As a rollback does it: the copy runs until the machine that takes its place has its identity.
  const next = await launchSaved('kvm-rolled-back');
  copy.agent.close();
  await copy.machine.destroy();
  await expectSavedState(next.agent);
  next.agent.close();
  await next.machine.destroy();
  await host.driver.deleteSnapshot('snap_kvm');
});

describe('the clock of a restored machine', () => {
  /** The guest's monotonic clock, and when the host asked and had the answer; all in milliseconds. */
  async function readClock() {
    const beforeMs = performance.now();
    const guestMs = 1000 * Number((await run('cat /proc/uptime')).split(' ')[0]);
    return { beforeMs, guestMs, afterMs: performance.now() };
  }

  const clockSources = '/sys/devices/system/clocksource/clocksource0';

  /** /proc/uptime has a resolution of 10 ms, and CPUs may differ a little. */
  const slackMs = 250;

  it('is the counter that KVM provides', async () => {
    const source = await run(`cat ${clockSources}/current_clocksource`);
    console.log(`clock source: ${source}`);
    expect(source).toBe(process.arch === 'arm64' ? 'arch_sys_counter' : 'kvm-clock');
  });

  it.runIf(process.arch === 'x64')(
    'leaves the TSC stable in the guest if it is stable on the host',
    async ({ skip }) => {
      // The kernel takes a TSC that it has marked unstable off this list.
      const ofHost = (await readFile(`${clockSources}/available_clocksource`, 'utf8')).trim().split(' ');
      const ofGuest = (await run(`cat ${clockSources}/available_clocksource`)).split(' ');
      console.log(`clock sources of the host: ${ofHost.join(', ')}; of the guest: ${ofGuest.join(', ')}`);
      expect(ofGuest).toContain('kvm-clock');
      const isEmulated = /^model name\s*:.*\bTCG\b/m.test(await readFile('/proc/cpuinfo', 'utf8'));
      skip(isEmulated, 'an emulated CPU stands still while its host is busy, so a guest may find its TSC unstable');
      if (ofHost.includes('tsc')) expect(ofGuest).toContain('tsc');
    },
  );

  it('goes on from the moment the template was saved', async () => {
    const { savedAtUptimeMs } = preparedHost().templates.small.manifest;
    const { guestMs, afterMs } = await readClock();
    expect(guestMs).toBeGreaterThanOrEqual(savedAtUptimeMs);
    // Between the last reading of the uptime and the save, the template machine ran on for a moment.
    const savingMs = 60_000;
    expect(guestMs).toBeLessThan(savedAtUptimeMs + (afterMs - launchStartedMs) + savingMs);
  });

  it('runs as fast as the clock of the host', async () => {
    const first = await readClock();
    await wait(3_000);
    const second = await readClock();
    const guestMs = second.guestMs - first.guestMs;
    expect(guestMs).toBeGreaterThan(second.beforeMs - first.afterMs - slackMs);
    expect(guestMs).toBeLessThan(second.afterMs - first.beforeMs + slackMs);
  });

  it('stands still while the machine is paused, and never goes back', async () => {
    const before = await readClock();
    await machine.pause();
    const pausedAtMs = performance.now();
    await wait(5_000);
    const pausedMs = performance.now() - pausedAtMs;
    await machine.resume();
    const after = await readClock();
    const guestMs = after.guestMs - before.guestMs;
    console.log(`paused for ${Math.round(pausedMs)} ms; the guest's clock advanced by ${guestMs} ms`);
    expect(guestMs).toBeGreaterThanOrEqual(0);
    expect(guestMs).toBeLessThan(after.afterMs - before.beforeMs - pausedMs + slackMs);
  });
});
