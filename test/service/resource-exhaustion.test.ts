import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, type ExecutionBody, exec, output } from '../support/api-requests.ts';
import { useSharedSandbox } from './shared-sandbox.ts';

const shared = useSharedSandbox();

async function expectWorking(): Promise<void> {
  expect(await output(shared.service, shared.sandbox.id, 'echo still here')).toBe('still here');
}

// One sandbox goes through all of them. The fork bomb comes last, because it may go on until the sandbox ends.
describe('a sandbox still accepts commands', () => {
  it('after a process that ran out of memory and was killed, which its execution reports', async () => {
    const { service, sandbox } = shared;
    // Nearly half of the memory is taken without being written, and the kernel fills the rest: an emulated guest needs seconds for each gigabyte.
    const step = 'x.append(mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_POPULATE))';
    const hog = `fallocate -l 1800M /dev/shm/held && python3 -c "import mmap\nx = []\nwhile True: ${step}"`;
    const result = await exec(service, sandbox.id, hog, { timeout_ms: 300_000 });
    expect(result).toMatchObject({ status: 'completed', exit_code: 137, oom_killed: true });
    const stored = await call(service, 'GET', `/executions/${result.id}`);
    expect((await stored.json()) as ExecutionBody).toMatchObject({ exit_code: 137, oom_killed: true });
    await expectWorking();
    // What the guest's kernel said about it is in the machine's log, for the operator and for failed tests.
    const log = await readFile(join(service.dataDir, 'machines', sandbox.id, 'qemu.log'), 'utf8');
    expect(log).toMatch(/(?:Out of memory|oom).*Killed process/i);
    const killed = await exec(service, sandbox.id, 'rm /dev/shm/held && kill -9 $$');
    expect(killed).toMatchObject({ exit_code: 137, oom_killed: false });
  });

  it('with a full disk', async () => {
    const { service, sandbox } = shared;
    // fallocate reserves the space without writing it, so the disk of the host does not fill up. 4 GiB are the most that a file may have.
    await exec(service, sandbox.id, 'for i in $(seq 60); do fallocate -l 4G /workspace/big$i || break; done; true', {
      timeout_ms: 300_000,
    });
    const full = await exec(service, sandbox.id, 'head -c 50000000 /dev/zero > /workspace/more');
    expect(full.exit_code).not.toBe(0);
    expect(full.stderr).toContain('No space left');
    await expectWorking();
    await output(service, sandbox.id, 'rm /workspace/big* && echo room > /workspace/small');
  });

  it('after a fork bomb', async () => {
    const { service, sandbox } = shared;
    const result = await exec(service, sandbox.id, 'bomb() { bomb | bomb & }; bomb; sleep 5', { timeout_ms: 6000 });
    expect(['timeout', 'completed', 'failed']).toContain(result.status);
    await expectWorking();
  });
});
