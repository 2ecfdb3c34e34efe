import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, createSandbox, type ExecutionBody, exec, type SandboxBody } from '../support/http.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let sandbox: SandboxBody;
beforeAll(async () => {
  service = await startTestService();
  sandbox = await createSandbox(service);
});
afterAll(() => service.stop());

it('a command that was killed for lack of memory says so, at once and later', async () => {
  const hog = 'python3 -c "x = []\nwhile True: x.append(bytearray(64 * 1024 * 1024))"';
  const hogged = await exec(service, sandbox.id, hog, { timeout_ms: 300_000 });
  expect(hogged).toMatchObject({ status: 'completed', exit_code: 137, oom_killed: true });
  const kept = await call(service, 'GET', `/executions/${hogged.id}`);
  expect((await kept.json()) as ExecutionBody).toMatchObject({ exit_code: 137, oom_killed: true });
}, 300_000);

it('a command that was killed by its own hand does not', async () => {
  expect(await exec(service, sandbox.id, 'kill -9 $$')).toMatchObject({ exit_code: 137, oom_killed: false });
});
