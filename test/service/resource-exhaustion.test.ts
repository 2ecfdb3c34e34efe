import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSandbox, exec, output, type SandboxBody } from '../support/api-requests.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

let service: TestService;
let sandbox: SandboxBody;
beforeEach(async () => {
  service = await startTestService();
  sandbox = await createSandbox(service);
});
afterEach(async () => {
  await service.stop();
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

  it('after a process that ran out of memory and was killed', async () => {
    const hog = 'python3 -c "x = []\nwhile True: x.append(bytearray(64 * 1024 * 1024))"';
    const result = await exec(service, sandbox.id, hog, { timeout_ms: 300_000 });
    expect(result.exit_code).toBe(137);
    await expectWorking();
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
