import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSandbox, exec, output, type SandboxBody } from '../support/http.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let sandbox: SandboxBody;
beforeEach(async () => {
  service = await startTestService();
  sandbox = await createSandbox(service);
});
afterEach(async () => {
  await service.stop();
});

const answers = async (): Promise<void> => {
  expect(await output(service, sandbox.id, 'echo still here')).toBe('still here');
};

describe('a sandbox goes on answering', () => {
  it('after a fork bomb', async () => {
    const result = await exec(service, sandbox.id, 'bomb() { bomb | bomb & }; bomb; sleep 5', { timeout_ms: 8000 });
    expect(['timeout', 'completed', 'failed']).toContain(result.status);
    await answers();
  });

  it('after a memory hog, which is killed', async () => {
    const hog = 'python3 -c "x = []\nwhile True: x.append(bytearray(64 * 1024 * 1024))"';
    const result = await exec(service, sandbox.id, hog, { timeout_ms: 300_000 });
    expect(result.exit_code).toBe(137);
    await answers();
  });

  it('with a full disk', async () => {
    // fallocate takes the space without writing it, so the host's disk does not fill.
    await exec(service, sandbox.id, 'for i in $(seq 60); do fallocate -l 2G /workspace/big$i || break; done; true', {
      timeout_ms: 300_000,
    });
    const full = await exec(service, sandbox.id, 'head -c 50000000 /dev/zero > /workspace/more');
    expect(full.exit_code).not.toBe(0);
    expect(full.stderr).toContain('No space left');
    await answers();
    await output(service, sandbox.id, 'rm /workspace/big* && echo room > /workspace/small');
  });
});
