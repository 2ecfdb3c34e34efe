import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSandbox, exec, type SandboxBody } from '../support/http.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let quiet: SandboxBody;
let noisy: SandboxBody;
beforeAll(async () => {
  service = await startTestService();
  [quiet, noisy] = await Promise.all([createSandbox(service), createSandbox(service)]);
});
afterAll(async () => {
  await service.stop();
});

/** The median time of `true` in the quiet sandbox, in milliseconds. */
const medianMs = async (): Promise<number> => {
  const taken: number[] = [];
  for (let round = 0; round < 15; round += 1) {
    const startedMs = performance.now();
    await exec(service, quiet.id, 'true');
    taken.push(performance.now() - startedMs);
  }
  return taken.toSorted((a, b) => a - b)[7] ?? Number.NaN;
};

it.each([
  ['a CPU hog', 'for i in 1 2 3 4; do (while :; do :; done) & done; sleep 0.1'],
  ['a disk filler', '(for i in $(seq 200); do head -c 20000000 /dev/zero > /workspace/fill; sync; done) & sleep 0.1'],
])('a command stays within three times its quiet time beside %s', async (name, command) => {
  await medianMs();
  const before = await medianMs();
  await exec(service, noisy.id, `${command} >/dev/null 2>&1`);
  const beside = await medianMs();
  await exec(service, noisy.id, 'pkill -9 -u sandbox -x "python3|bash|head" || true').catch(() => {});
  console.log(
    `beside ${name}: ${beside.toFixed(0)} ms, quiet ${before.toFixed(0)} ms, ${(beside / before).toFixed(2)} ×`,
  );
  expect(beside / before).toBeLessThan(3);
});
