import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandbox, deleteSandbox, output, type SandboxBody } from '../support/api-requests.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

let service: TestService;
let one: SandboxBody;
let other: SandboxBody;

beforeAll(async () => {
  service = await startTestService();
  [one, other] = await Promise.all([createSandbox(service), createSandbox(service)]);
});
afterAll(async () => {
  await service.stop();
});

/** The output of a command in each of the two sandboxes. */
async function inBoth(command: string): Promise<[string, string]> {
  return [await output(service, one.id, command), await output(service, other.id, command)];
}

describe('two sandboxes', () => {
  it('have their own kernel', async () => {
    const commandLines = await inBoth('cat /proc/cmdline');
    expect(commandLines[0]).not.toBe((await readFile('/proc/cmdline', 'utf8')).trim());
    expect(await inBoth('uname -r')).toEqual([expect.stringContaining('cloud'), expect.stringContaining('cloud')]);
  });

  it.each([
    ['hostname', 'hostname'],
    ['machine-id', 'cat /etc/machine-id'],
    ['boot id', 'cat /proc/sys/kernel/random/boot_id'],
    ['random uuid', 'cat /proc/sys/kernel/random/uuid'],
    ['generated key', "ssh-keygen -q -t ed25519 -N '' -f /tmp/key && cat /tmp/key.pub"],
    ['python randomness', 'python3 -c "import secrets; print(secrets.token_hex(32))"'],
  ])('differ in their %s', async (_, command) => {
    const [first, second] = await inBoth(command);
    expect(first).not.toBe('');
    expect(first).not.toBe(second);
  });

  it('have the same hostname in /etc/hostname and /etc/hosts', async () => {
    const names = await output(service, one.id, 'hostname; cat /etc/hostname; getent hosts "$(hostname)" | head -1');
    const [hostname, file, hosts] = names.split('\n');
    expect(file).toBe(hostname);
    expect(hosts).toContain(hostname);
  });

  it('have a clock within half a second of the host', async () => {
    for (const { id } of [one, other]) {
      const before = Date.now();
      const guest = Number(await output(service, id, 'date +%s%3N'));
      const after = Date.now();
      expect(guest).toBeGreaterThan(before - 500);
      expect(guest).toBeLessThan(after + 500);
    }
  });

  it('do not share files', async () => {
    await output(service, one.id, 'echo secret > /workspace/mine');
    expect(await output(service, other.id, 'ls -A /workspace')).toBe('');
  });
});

it('deleting a sandbox ends its machine', async () => {
  const third = await createSandbox(service);
  expect(await service.machineProcesses()).toHaveLength(3);
  await deleteSandbox(service, third.id);
  expect(await service.machineProcesses()).toHaveLength(2);
});
