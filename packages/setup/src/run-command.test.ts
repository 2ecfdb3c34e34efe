import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runCommand, tryCommand } from './run-command.ts';

test('standard output is the result, lines of both streams are reported as they come', async () => {
  const lines: string[] = [];
  const output = await runCommand('sh', ['-c', 'cat; echo warned >&2'], {
    input: 'given\n',
    onLine: (line) => lines.push(line),
  });
  expect(output).toBe('given\n');
  expect(lines.sort()).toEqual(['given', 'warned']);
});

test('a failure names the command, its exit code and its last words', async () => {
  await expect(runCommand('sh', ['-c', 'echo no space left >&2; exit 3'])).rejects.toThrow(
    'sh failed with exit code 3. Its last words:\n  no space left',
  );
  await expect(runCommand('/no/such/command', [])).rejects.toThrow('could not be started');
  expect(await tryCommand('/no/such/command', [])).toBeUndefined();
});

test('an abort ends the command with everything it started', async () => {
  const controller = new AbortController();
  let childPid = 0;
  const running = runCommand('sh', ['-c', 'sleep 60 & echo $!; wait'], {
    signal: controller.signal,
    onLine: (line) => {
      childPid = Number(line);
      controller.abort();
    },
  });
  await expect(running).rejects.toThrow('aborted');
  await expect.poll(() => isRunning(childPid)).toBe(false);
});

/** A process that has ended but was not collected by its parent yet does not count. */
function isRunning(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  return existsSync(path) && !readFileSync(path, 'utf8').includes(') Z ');
}
