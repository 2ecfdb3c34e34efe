import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSandbox, deleteSandbox, exec, type SandboxBody } from '../support/api-requests.ts';
import { machinePids } from '../support/machine-processes.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { maxSlowdownRatio, measureSlowdown, recheckSlowdown } from '../support/slowdown.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const mib = 1024 ** 2;
const rateMibPerSecond = 16;
/** Eight seconds' worth may be used at once. */
const burstMib = 8 * rateMibPerSecond;

let service: TestService;
let innocent: SandboxBody;
let hostile: SandboxBody;
beforeAll(async () => {
  service = await startTestService({ ...unlimitedRates, MAYFLY_DISK_MB_PER_SECOND: String(rateMibPerSecond) });
  [innocent, hostile] = await Promise.all([createSandbox(service), createSandbox(service)]);
});
afterAll(() => service?.stop());

/** What a machine's QEMU has written so far. */
async function writtenMib(id: string): Promise<number> {
  const pid = (await machinePids(service.dataDir)).get(id);
  return Number(/^wchar: (\d+)$/m.exec(await readFile(`/proc/${pid}/io`, 'utf8'))?.[1]) / mib;
}

async function timesMs(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const durationsMs: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const startedMs = performance.now();
    await work();
    durationsMs.push(performance.now() - startedMs);
  }
  return durationsMs.toSorted((a, b) => a - b);
}

const medianOf = (sorted: readonly number[]) => sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
const commandMs = async () => medianOf(await timesMs(15, () => exec(service, innocent.id, 'true')));
/** One small write, which is on disk before it returns. SQLite writes nothing if the value is the same as before. */
const commit = () => {
  aliveAtMs += 1;
  return service.core.store.owner.noteAlive(aliveAtMs);
};
let aliveAtMs = Date.now();

it('a guest that writes as fast as it can stays within its rate, and commits, commands and creates go on beside it', async () => {
  await commandMs();
  const baselineMs = await commandMs();
  const quietCommits = await timesMs(100, commit);
  const startedAtMs = performance.now();
  const startMib = await writtenMib(hostile.id);
  const flood =
    '(while :; do dd if=/dev/zero of=/workspace/flood bs=1M count=512 conv=fsync,notrunc; done) >/dev/null 2>&1 &';
  await exec(service, hostile.id, flood);
  await expect.poll(async () => (await writtenMib(hostile.id)) - startMib).toBeGreaterThan(burstMib);
  const commits = await timesMs(100, commit);
  const underLoad = await measureSlowdown(baselineMs, commandMs);
  const creates = await timesMs(3, async () => deleteSandbox(service, (await createSandbox(service)).id));
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const written = (await writtenMib(hostile.id)) - startMib;
  await exec(service, hostile.id, 'pkill -9 -f "[o]f=/workspace/flood" || true');
  const slowdown = await recheckSlowdown(underLoad, commandMs);
  const show = (ms: number | undefined) => (ms ?? Number.NaN).toFixed(1);
  console.log(
    [
      `a guest wrote ${written.toFixed(0)} MiB in ${seconds.toFixed(1)} s (limit ${burstMib} MiB and ${rateMibPerSecond} MiB/s)`,
      `commits: median ${show(medianOf(commits))} ms, longest ${show(commits.at(-1))} ms (alone: ${show(medianOf(quietCommits))} ms, ${show(quietCommits.at(-1))} ms)`,
      `exec true: ${slowdown.loadedMs} ms (alone: ${slowdown.baselineMs} ms), ${slowdown.ratio} ×; create and delete: ${show(medianOf(creates))} ms`,
    ].join('\n'),
  );
  // The buckets drain at the rate, so this bound holds however fast or slow the host is.
  expect(written).toBeLessThanOrEqual((burstMib + rateMibPerSecond * seconds) * 1.1);
  expect(slowdown.ratio).toBeLessThan(maxSlowdownRatio);
});
