import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, it } from 'vitest';
import { hostState } from '../support/host-state.ts';
import { createSandbox, exec, type Target } from '../support/http.ts';
import { preparedHost } from '../support/prepared.ts';
import { machineProcesses } from '../support/processes.ts';

const key = 'mf_test_key_of_the_first_account';
const count = 20;
const folders: string[] = [];
const services: ChildProcess[] = [];
/** A test that failed half-way leaves services and machines; nothing of them may stay. */
afterAll(async () => {
  for (const service of services) await end(service, 'SIGTERM');
  for (const folder of folders) {
    if ((await machineProcesses(folder)).length > 0) await end((await start(folder)).process, 'SIGTERM');
    await rm(folder, { recursive: true, force: true });
  }
});

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-'));
  folders.push(folder);
  return folder;
};

/** Starts a service in a process of its own and waits until it takes requests. */
const start = async (dataDir: string): Promise<{ readonly target: Target; readonly process: ChildProcess }> => {
  const script = join(import.meta.dirname, '../support/run-service.ts');
  const env = {
    MAYFLY_DATA_DIR: dataDir,
    MAYFLY_PORT: '0',
    MAYFLY_BOOTSTRAP_API_KEY: key,
    MAYFLY_LOG_LEVEL: 'error',
    MAYFLY_POOL: 'none',
  };
  const child = spawn(process.execPath, [script, JSON.stringify(preparedHost())], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  services.push(child);
  const [url] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(60_000) });
  return { target: { url: String(url), key }, process: child };
};

const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
};

/** Makes the host one on which no network namespace was made yet: a mount of /run/netns that is left over goes, unless somebody uses it. */
const forgetNamespaces = (): void => {
  const script = 'if [ -z "$(ls -A /run/netns)" ]; then umount /run/netns; rmdir /run/netns; fi';
  spawnSync('sh', ['-c', script], { stdio: 'ignore' });
};

it('twenty machines outlive a kill -9 of the service, and a stop for good leaves nothing', async () => {
  forgetNamespaces();
  const before = await hostState();
  console.log(`/run/netns is ${before.includes(' /run/netns ') ? '' : 'not '}mounted before`);
  const [mine, theirs] = [await newFolder(), await newFolder()];
  const other = await start(theirs);
  const foreign = await createSandbox(other.target);

  const first = await start(mine);
  const sandboxes = await Promise.all(Array.from({ length: count }, () => createSandbox(first.target)));
  await Promise.all(sandboxes.map(({ id }) => exec(first.target, id, `echo ${id} > /workspace/mark`)));
  await end(first.process, 'SIGKILL');
  expect(await machineProcesses(mine)).toHaveLength(count);

  const startedMs = performance.now();
  const second = await start(mine);
  const marks = await Promise.all(sandboxes.map(({ id }) => exec(second.target, id, 'cat /workspace/mark')));
  const adoptedMs = performance.now() - startedMs;
  console.log(`${count} machines adopted and answering ${Math.round(adoptedMs)} ms after the restart`);
  expect(marks.map(({ stdout }) => stdout.trim())).toEqual(sandboxes.map(({ id }) => id));
  expect(adoptedMs).toBeLessThan(10_000);

  expect((await exec(other.target, foreign.id, 'echo untouched')).stdout).toBe('untouched\n');
  await end(second.process, 'SIGTERM');
  expect((await exec(other.target, foreign.id, 'echo untouched')).stdout).toBe('untouched\n');
  await end(other.process, 'SIGTERM');
  expect(await readdir(join(mine, 'machines'))).toEqual([]);
  expect(await hostState()).toBe(before);
}, 300_000);
