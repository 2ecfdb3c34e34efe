import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSandbox, exec, type SandboxBody } from '../support/api-requests.ts';
import { maxSlowdownRatio, measureSlowdown, recheckSlowdown } from '../support/slowdown.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

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

/** The median duration of the command `true` in the quiet sandbox. */
async function medianMs(): Promise<number> {
  const durationsMs: number[] = [];
  for (let round = 0; round < 15; round += 1) {
    const startedMs = performance.now();
    await exec(service, quiet.id, 'true');
    durationsMs.push(performance.now() - startedMs);
  }
  return durationsMs.toSorted((a, b) => a - b)[7] ?? Number.NaN;
}

it.each([
  ['a CPU hog', 'for i in 1 2 3 4; do (while :; do :; done) & done; sleep 0.1'],
  ['a disk filler', '(for i in $(seq 200); do head -c 20000000 /dev/zero > /workspace/fill; sync; done) & sleep 0.1'],
])('a command takes less than three times as long beside %s', async (name, command) => {
  await medianMs();
  const baselineMs = await medianMs();
  await exec(service, noisy.id, `${command} >/dev/null 2>&1`);
  const underLoad = await measureSlowdown(baselineMs, medianMs);
  await exec(service, noisy.id, 'pkill -9 -u sandbox -x "python3|bash|head" || true').catch(() => {});
  const slowdown = await recheckSlowdown(underLoad, medianMs);
  console.log(`beside ${name}: ${slowdown.loadedMs} ms, baseline ${slowdown.baselineMs} ms, ${slowdown.ratio} ×`);
  expect(slowdown.ratio).toBeLessThan(maxSlowdownRatio);
});
