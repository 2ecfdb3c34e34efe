import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccount } from '#server/core/accounts/manage-accounts.ts';
import { call, createSandbox, exec, output, type SandboxBody, type Target } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { machinePids } from '../support/machine-processes.ts';
import { unlimitedRates } from '../support/service-settings.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

const mib = 1024 ** 2;
const limitMib = 1_600;
/** What a guest writes and frees again. */
const filledBytes = length(120, 390) * 1_000_000;

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
  await output(service, innocent.id, `yes written | head -c ${filledBytes} > /dev/shm/large; echo written`);
  const filledMib = await usedMib();
  expect(filledMib).toBeGreaterThan(beforeMib + (0.9 * filledBytes) / mib);
  await output(service, innocent.id, 'rm /dev/shm/large; echo removed');
  await expect.poll(usedMib).toBeLessThan(filledMib - (0.75 * filledBytes) / mib);
  console.log(`memory of a machine: ${beforeMib} MiB, filled ${filledMib} MiB, freed ${await usedMib()} MiB`);
  // The guest can use it again, and finds in it what it wrote.
  const pattern = `yes again | head -c ${filledBytes / 3}`;
  const again = `${pattern} > /dev/shm/again && ${pattern} | cmp - /dev/shm/again && echo same; rm /dev/shm/again`;
  expect(await output(service, innocent.id, again)).toBe('same');
});

it('at the memory limit of all machines, the account that uses most loses its largest sandbox; all others keep working', async () => {
  expect(service.driver.memoryLeftBytes()).toBeLessThan(limitMib * mib);
  // The innocent sandbox is the larger of the two that stay: not the size of a sandbox decides, but the use of its account.
  await output(service, innocent.id, 'yes kept | head -c 150000000 > /dev/shm/kept; echo kept');
  // In steps, so that the outcome does not depend on how fast this host gives memory out.
  const eat =
    'python3 -c "import time\nx = []\nwhile True:\n  x.append(bytearray(b\'x\') * (16 << 20))\n  time.sleep(0.1)"';
  const eating = call(greedy, 'POST', `/sandboxes/${hog.id}/exec`, { command: eat, timeout_ms: 600_000 });
  let commands = 0;
  let leastLeftMib = Number.POSITIVE_INFINITY;
  while ((await readSandbox(greedy, hog.id)).status === 'running') {
    expect((await exec(service, innocent.id, 'true')).exit_code).toBe(0);
    commands += 1;
    leastLeftMib = Math.min(leastLeftMib, Math.round(service.driver.memoryLeftBytes() / mib));
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
  expect(await output(service, innocent.id, 'stat -c %s /dev/shm/kept')).toBe('150000000');
  const next = await createSandbox(service);
  expect(await output(service, next.id, 'echo ready')).toBe('ready');
});
