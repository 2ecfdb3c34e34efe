import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call, createSandbox, type ExecutionBody, exec, output, type SandboxBody } from '../support/api-requests.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

let service: TestService;
let sandbox: SandboxBody;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());
beforeEach(async () => {
  sandbox = await createSandbox(service);
});

async function expectWorking(): Promise<void> {
  expect(await output(service, sandbox.id, 'echo still here')).toBe('still here');
}

describe('a sandbox still accepts commands', () => {
  it('after a fork bomb', async () => {
    const result = await exec(service, sandbox.id, 'bomb() { bomb | bomb & }; bomb; sleep 5', { timeout_ms: 8000 });
    expect(['timeout', 'completed', 'failed']).toContain(result.status);
    await expectWorking();
  });

  it('after a process that ran out of memory and was killed, which its execution reports', async () => {
    const hog = 'python3 -c "x = []\nwhile True: x.append(bytearray(64 * 1024 * 1024))"';
    const result = await exec(service, sandbox.id, hog, { timeout_ms: 300_000 });
    expect(result).toMatchObject({ status: 'completed', exit_code: 137, oom_killed: true });
    const stored = await call(service, 'GET', `/executions/${result.id}`);
    expect((await stored.json()) as ExecutionBody).toMatchObject({ exit_code: 137, oom_killed: true });
    await expectWorking();
    expect(await exec(service, sandbox.id, 'kill -9 $$')).toMatchObject({ exit_code: 137, oom_killed: false });
  });

  it('with a full disk', async () => {
    // fallocate reserves the space without writing it, so the disk of the host does not fill up.
    await exec(service, sandbox.id, 'for i in $(seq 60); do fallocate -l 2G /workspace/big$i || break; done; true', {
      timeout_ms: 300_000,
    });
    const full = await exec(service, sandbox.id, 'head -c 50000000 /dev/zero > /workspace/more');
    expect(full.exit_code).not.toBe(0);
    expect(full.stderr).toContain('No space left');
    await expectWorking();
    await output(service, sandbox.id, 'rm /workspace/big* && echo room > /workspace/small');
  });
});
