import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HostShell } from './host-shell.ts';
import { mayflyPath, startMayfly } from './mayfly.ts';
import { OnTerminal } from './on-terminal.ts';

let shell: HostShell;
let otherNode: string;
beforeAll(async () => {
  shell = await HostShell.start();
  otherNode = join(shell.folder, 'node');
  copyFileSync(process.execPath, otherNode, constants.COPYFILE_FICLONE);
});
afterAll(() => shell[Symbol.asyncDispose]());

const newest = () => shell.commands.at(-1);
const untilStarted = async (count: number) => {
  await expect.poll(() => shell.commands.length).toBe(count);
  await expect.poll(() => newest()?.written.length).toBeGreaterThan(0);
};

describe('started by another Node.js', () => {
  it('standard input, bytes and the exit code pass', async () => {
    const { child, ended, stdout } = startMayfly(['run', 'cat; exit 9'], shell.env, otherNode);
    child.stdin.end(Buffer.from([0, 0xff, 10]));
    expect(await ended).toBe(9);
    expect([...(await stdout)]).toEqual([0, 0xff, 10]);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    '%s to the first process reaches the command once',
    async (name) => {
      const before = shell.commands.length;
      const { child, ended } = startMayfly(['run', 'echo up; exec sleep 60'], shell.env, otherNode);
      await untilStarted(before + 1);
      child.kill(name);
      const number = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 }[name];
      expect(await ended).toBe(128 + number);
      expect(newest()?.signals).toEqual([number]);
      expect(await shell.sandboxes()).toEqual([]);
    },
  );

  it('Ctrl-C in a terminal reaches the command once', async () => {
    const before = shell.commands.length;
    const terminal = new OnTerminal(
      ['run', 'trap "echo cleaned; exit 0" INT; echo up; while :; do sleep 0.1; done'],
      shell.env,
      otherNode,
    );
    await untilStarted(before + 1);
    await expect.poll(() => terminal.printed).toContain('up');
    terminal.type('\x03');
    expect(await terminal.ended).toEqual({ code: 130, isRestored: true });
    expect(terminal.printed).toContain('cleaned');
    expect(newest()?.signals).toEqual([2]);
    expect(await shell.sandboxes()).toEqual([]);
  });

  it('SIGINT that only the first process gets reaches the command, also in the foreground of a terminal', async () => {
    const before = shell.commands.length;
    const terminal = new OnTerminal(['run', 'echo up; exec sleep 60'], shell.env, otherNode);
    await untilStarted(before + 1);
    terminal.kill('SIGINT');
    expect((await terminal.ended).code).toBe(130);
    expect(newest()?.signals).toEqual([2]);
    expect(await shell.sandboxes()).toEqual([]);
  });

  it('a shell has the terminal for itself', async () => {
    const terminal = new OnTerminal(['shell'], shell.env, otherNode);
    const { terminals } = shell.api.service.connector;
    await expect.poll(() => terminals.all.size).toBe(1);
    terminals.newest.print('ready$ ');
    await expect.poll(() => terminal.printed).toContain('ready$ ');
    terminal.type('\x03\x1a');
    await expect.poll(() => terminals.newest.typed.join('')).toBe('\x03\x1a');
    terminals.newest.exit(5);
    expect(await terminal.ended).toEqual({ code: 5, isRestored: true });
  });
});

it('an argument that is not UTF-8 is refused, and U+FFFD itself is not', async () => {
  const bash = async (script: string) => {
    const child = spawn('bash', ['-c', script, 'bash', process.execPath, mayflyPath], {
      env: { ...process.env, ...shell.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
    return { code: code as number | null, stdout, stderr };
  };
  expect(await bash(String.raw`"$@" run printf %s $'a\xffb'`)).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^error: An argument is not valid UTF-8\. [^\n]+\n$/),
  });
  expect(await bash(String.raw`"$@" run printf %s $'a\uFFFDb'`)).toMatchObject({ code: 0, stdout: 'a\uFFFDb' });
});
