import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGuestConnector } from '#server/guest/connector.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

let host: TestDriver;
let machine: Awaited<ReturnType<TestDriver['driver']['launch']>>;
let agent: Awaited<ReturnType<ReturnType<typeof createGuestConnector>['attach']>>;
beforeAll(async () => {
  host = await createTestDriver();
  machine = await host.driver.launch({ id: 'cpu', size: 'small' });
  agent = await createGuestConnector().attach(machine, 120_000);
});
afterAll(async () => {
  agent.close();
  await machine.destroy();
  await host.remove();
});

let executions = 0;
async function run(command: string): Promise<string> {
  executions += 1;
  const request = { command, cwd: '/', env: {}, timeoutMs: 120_000, captureBytes: 65_536 };
  return (await agent.execute({ id: `exec_${executions}`, ...request })).stdout.toString().trim();
}

it('a guest has no virtualization extensions', async () => {
  const features = /^(?:flags|Features)\s*:.*$/m.exec(await run('cat /proc/cpuinfo'))?.[0].split(/\s+/);
  expect(features?.length).toBeGreaterThan(5);
  expect(features).not.toContain('svm');
  expect(features).not.toContain('vmx');
  // The guest's kernel for arm64 has KVM built in, and would register its device.
  const devices = (await run('cat /proc/misc')).split(/\s+/);
  expect(devices).toContain('hw_random');
  expect(devices).not.toContain('kvm');
});

it('a guest has no performance counters', async () => {
  const sources = (await run('ls /sys/bus/event_source/devices')).split(/\s+/);
  expect(sources).toContain('software');
  expect(sources.filter((name) => /^(?:cpu|armv8_pmu|intel_|amd_)/.test(name))).toEqual([]);
});

it('a guest does not use the HPET, which QEMU would let tick for as long as the machine lives', async () => {
  const sources = await run('cat /sys/devices/system/clocksource/clocksource0/available_clocksource');
  expect(sources).not.toBe('');
  expect(sources.split(/\s+/)).not.toContain('hpet');
});
