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
  expect(await run("grep -o -w -E 'svm|vmx' /proc/cpuinfo | sort -u")).toBe('');
  expect(await run('ls /dev/kvm')).toBe('');
  // On arm64, extensions would make the kernel start at exception level 2.
  expect(await run("dmesg | grep -o 'started at EL[02-9]'")).toBe('');
});

it('a guest has no performance counters', async () => {
  const sources = (await run('ls /sys/bus/event_source/devices')).split(/\s+/);
  expect(sources).toContain('software');
  expect(sources.filter((name) => /^(?:cpu|armv8_pmu|intel_|amd_)/.test(name))).toEqual([]);
});
