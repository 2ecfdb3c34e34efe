import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, createSandbox, type ExecutionBody, exec, type SandboxBody } from '../support/api-requests.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

let service: TestService;
let sandbox: SandboxBody;
beforeAll(async () => {
  service = await startTestService();
  sandbox = await createSandbox(service);
});
afterAll(() => service.stop());

it('a command that was killed for lack of memory is reported as such, in the response and in its record', async () => {
  const hog = 'python3 -c "x = []\nwhile True: x.append(bytearray(64 * 1024 * 1024))"';
  const hogged = await exec(service, sandbox.id, hog, { timeout_ms: 300_000 });
  expect(hogged).toMatchObject({ status: 'completed', exit_code: 137, oom_killed: true });
  const stored = await call(service, 'GET', `/executions/${hogged.id}`);
  expect((await stored.json()) as ExecutionBody).toMatchObject({ exit_code: 137, oom_killed: true });
});

it('a command that kills itself is not reported as out of memory', async () => {
  expect(await exec(service, sandbox.id, 'kill -9 $$')).toMatchObject({ exit_code: 137, oom_killed: false });
});
