import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccount } from '#server/core/accounts/manage-accounts.ts';
import { call, createSandbox, exec, output, type SandboxBody, type Target } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { machinePids } from '../support/machine-processes.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const mib = 1024 ** 2;
/** Twice what the innocent account holds in the end, or more: a guest has to fill the rest of it. */
const limitMib = length(1_000, 1_600);
/** What a guest writes and frees again. */
const filledMib = length(115, 372);
/** What it writes and reads after that. */
const againMib = Math.round(filledMib / 3);
/** What the innocent sandbox keeps. */
const keptMib = 144;

/** Between two commands of the innocent sandbox, which shares its CPU with the other guests. */
const pauseMs = 200;

let service: TestService;
let greedy: Target;
let innocent: SandboxBody;
let idle: SandboxBody;
let hog: SandboxBody;
beforeAll(async () => {
  service = await startTestService({
    ...unlimitedRates,
    MAYFLY_MACHINES_MEMORY_MB: String(limitMib),
    MAYFLY_MEMORY_OVERCOMMIT: '40',
    MAYFLY_LOG_LEVEL: 'error',
  });
  const { apiKey } = await createAccount(service.core, { email: 'greedy@example.com', creditMicroUsd: 100_000_000 });
  greedy = { url: service.url, key: apiKey };
  innocent = await createSandbox(service);
  idle = await createSandbox(greedy);
  hog = await createSandbox(greedy);
});
afterAll(() => service?.stop());

/** A command that writes a file into memory: a piece of text, again and again by one program, because an emulated guest starts and feeds them slowly. */
function fill(name: string, pieces: number): string {
  const piece = `/dev/shm/piece-${name}`;
  const all = Array.from({ length: pieces }, () => piece).join(' ');
  return `yes ${name} | head -c ${mib} > ${piece} && cat ${all} > /dev/shm/${name} && rm ${piece}`;
}

const readSandbox = async (target: Target, id: string) =>
  (await (await call(target, 'GET', `/sandboxes/${id}`)).json()) as SandboxBody;

it('machines are preferred victims of the out-of-memory killer', async () => {
  for (const pid of (await machinePids(service.dataDir)).values()) {
    expect((await readFile(`/proc/${pid}/oom_score_adj`, 'utf8')).trim()).toBe('500');
  }
});

it('memory that a guest has freed goes back to the host', async () => {
  const usedMib = async () =>
    Math.round((await service.core.machines.get(innocent.id).machine.usage()).memoryBytes / mib);
  const beforeMib = await usedMib();
  await output(service, innocent.id, fill('large', filledMib));
  const fullMib = await usedMib();
  expect(fullMib).toBeGreaterThan(beforeMib + 0.9 * filledMib);
  await output(service, innocent.id, 'rm /dev/shm/large; echo removed');
  // Not all of it: a guest gives back whole blocks of 2 MiB, and a block stays as long as anything else uses a page of it.
  await expect.poll(usedMib).toBeLessThan(fullMib - 0.5 * filledMib);
  console.log(`memory of a machine: ${beforeMib} MiB, filled ${fullMib} MiB, freed ${await usedMib()} MiB`);
  // The guest can use it again, and finds in it what it wrote.
  const again = await output(service, innocent.id, `${fill('again', againMib)} && md5sum < /dev/shm/again`);
  const digest = createHash('md5');
  const piece = 'again\n'.repeat(mib).slice(0, mib);
  for (let pieces = 0; pieces < againMib; pieces += 1) digest.update(piece);
  expect(again).toBe(`${digest.digest('hex')}  -`);
  await output(service, innocent.id, 'rm /dev/shm/again');
});

it('at the memory limit of all machines, the account that uses most loses its largest sandbox; all others keep working', async () => {
  expect(service.driver.memoryLeftBytes()).toBeLessThan(limitMib * mib);
  // The innocent sandbox is the larger of the two that stay: not the size of a sandbox decides, but the use of its account.
  await output(service, innocent.id, fill('kept', keptMib));
  // In steps, so that the outcome does not depend on how fast this host gives memory out. The kernel fills them, in less time than a program would.
  const eat = `python3 -c "import mmap, time
x = []
while True:
  x.append(mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_POPULATE))
  time.sleep(0.2)"`;
  const eating = call(greedy, 'POST', `/sandboxes/${hog.id}/exec`, { command: eat, timeout_ms: 600_000 });
  let commands = 0;
  let leastLeftMib = Number.POSITIVE_INFINITY;
  while ((await readSandbox(greedy, hog.id)).status === 'running') {
    expect((await exec(service, innocent.id, 'true')).exit_code).toBe(0);
    commands += 1;
    leastLeftMib = Math.min(leastLeftMib, Math.round(service.driver.memoryLeftBytes() / mib));
    await pause(pauseMs);
  }
  const ended = await readSandbox(greedy, hog.id);
  console.log(
    `memory limit ${limitMib} MiB, least left ${leastLeftMib} MiB, ${commands} commands of the innocent sandbox meanwhile; ${ended.status_reason}`,
  );
  expect(ended.status).toBe('failed');
  expect(ended.status_reason).toMatch(
    /^evicted: the host was running out of memory, and this account used the most \([\d.,]+ [MG]iB, of which this sandbox [\d.,]+ [MG]iB\)$/,
  );
  expect((await eating).status).toBe(502);
  expect((await readSandbox(greedy, idle.id)).status).toBe('running');
  expect(await output(service, innocent.id, 'stat -c %s /dev/shm/kept')).toBe(String(keptMib * mib));
  const next = await createSandbox(service);
  expect(await output(service, next.id, 'echo ready')).toBe('ready');
});
