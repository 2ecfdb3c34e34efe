import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, it } from 'vitest';
import { createSandbox, exec, type Target } from '../support/http.ts';
import { preparedHost } from '../support/prepared.ts';
import { machineProcesses } from '../support/processes.ts';

const key = 'mf_test_key_of_the_first_account';
const count = 20;
const folders: string[] = [];
const services: ChildProcess[] = [];
afterAll(async () => {
  for (const service of services) service.kill('SIGKILL');
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-'));
  folders.push(folder);
  return folder;
};

/** Starts a service in a process of its own and waits until it takes requests. */
const start = async (dataDir: string): Promise<{ readonly target: Target; readonly process: ChildProcess }> => {
  const script = join(import.meta.dirname, '../support/run-service.ts');
  const env = { MAYFLY_DATA_DIR: dataDir, MAYFLY_PORT: '0', MAYFLY_BOOTSTRAP_API_KEY: key, MAYFLY_LOG_LEVEL: 'error' };
  const child = spawn(process.execPath, [script, JSON.stringify(preparedHost())], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  services.push(child);
  const [url] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(60_000) });
  return { target: { url: String(url), key }, process: child };
};

const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  child.kill(signal);
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
};

/** Everything of the host that machines could leave behind. */
const hostState = async (): Promise<string> => {
  const sh = (script: string) => execFileSync('sh', ['-c', script], { encoding: 'utf8' });
  const tables = sh(
    "ip -br link | awk '{print $1}'; nft list ruleset; ls /run/netns 2>/dev/null; cat /proc/self/mounts; ip route",
  );
  const groups = sh(
    'find /sys/fs/cgroup -type d -name "mayfly*" 2>/dev/null; ls /run/mayfly/uids /run/mayfly/networks 2>/dev/null',
  );
  const qemus = (await machineProcesses(tmpdir())).length;
  return `${tables}\n${groups}\nqemu processes: ${qemus}`;
};

it('twenty machines outlive a kill -9 of the service, and a stop for good leaves nothing', async () => {
  // The first pool of a host makes /run/netns a mount point, as `ip netns add` does; that stays.
  execFileSync('sh', [
    '-c',
    'ip netns add mayfly-warm && ip netns del mayfly-warm; mkdir -p /run/mayfly/uids /run/mayfly/networks',
  ]);
  const before = await hostState();
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
