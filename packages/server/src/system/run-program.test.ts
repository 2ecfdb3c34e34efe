import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { findProgram, ProgramFailed, runProgram } from './run-program.ts';

const sh = (script: string, options = {}) => runProgram('sh', ['-c', script], options);

it('returns the standard output alone and passes input, folder and environment on', async () => {
  expect(await sh('echo out; echo err >&2')).toBe('out\n');
  expect(await sh('cat; pwd; echo $NAME', { input: 'in ', cwd: '/usr', env: { NAME: 'x' } })).toBe('in /usr\nx\n');
});

it('reports every line of output as it arrives', async () => {
  const lines: string[] = [];
  await sh('echo one; printf "two\\rthree\\n" >&2', { onLine: (line: string) => lines.push(line) });
  expect(lines.toSorted()).toEqual(['one', 'three', 'two']);
});

it('fails with the exit code and the last lines of output', async () => {
  await expect(sh('echo why >&2; exit 3')).rejects.toThrow(new ProgramFailed('sh failed with exit code 3: why'));
  await expect(sh('kill -9 $$')).rejects.toThrow('sh was killed by SIGKILL.');
  const long = await sh('seq 100; exit 1').catch(String);
  expect(long).toContain('Its last output:\n  76\n');
  await expect(runProgram('/no/such/program', [])).rejects.toThrow('/no/such/program could not be started');
});

it('kills a program that is too slow, with everything it started', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-run-'));
  try {
    const pidPath = join(folder, 'pid');
    await expect(sh(`sleep 1000 & echo $! >${pidPath}; wait`, { deadlineMs: 300 })).rejects.toThrow(
      'sh did not finish within 300 ms',
    );
    const pid = (await readFile(pidPath, 'utf8')).trim();
    const state = () =>
      readFile(`/proc/${pid}/stat`, 'utf8').then(
        (text) => text.split(' ')[2],
        () => 'gone',
      );
    await expect.poll(state).toMatch(/gone|Z/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it.each([
  ['has ended', ''],
  ['is still running', 'wait'],
])('does not wait for a process in another group when its time is over and the program %s', async (_, then) => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-run-'));
  const pidPath = join(folder, 'pid');
  try {
    const running = sh(`setsid sleep 1000 & echo $! >${pidPath}; ${then}`, { deadlineMs: 3_000 });
    const [ended] = await Promise.race([Promise.allSettled([running]), setTimeout(30_000, [undefined])]);
    expect(ended).toBeDefined();
  } finally {
    process.kill(Number(await readFile(pidPath, 'utf8')), 'SIGKILL');
    await rm(folder, { recursive: true });
  }
});

it('ends a program when the signal is aborted, and starts none afterwards', async () => {
  const abort = new AbortController();
  const onLine = () => abort.abort(new Error('stopped'));
  const running = sh('sleep 1000 & echo started; wait', { signal: abort.signal, onLine });
  await expect(running).rejects.toThrow('stopped');
  await expect(sh('true', { signal: abort.signal })).rejects.toThrow('stopped');
});

it('finds a program, or says where it looked', async () => {
  expect(await findProgram('cat')).toBe('/usr/bin/cat');
  expect(await findProgram('/usr/bin/cat')).toBe('/usr/bin/cat');
  await expect(findProgram('no-such-program')).rejects.toThrow('no-such-program was not found in /usr/local/bin,');
});
