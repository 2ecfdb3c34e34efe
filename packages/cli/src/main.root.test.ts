import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FaultyProxy } from '../../sdk/test/faulty-proxy.ts';
import { HostShell } from '../test/host-shell.ts';
import { mayflyPath } from '../test/mayfly.ts';
import { OnTerminal } from '../test/on-terminal.ts';

let shell: HostShell;
beforeAll(async () => {
  shell = await HostShell.start();
});
afterAll(() => shell[Symbol.asyncDispose]());
beforeEach(() => shell.api.service.connector.terminals.all.clear());

const expectNoSandbox = async () => expect(await shell.sandboxes()).toEqual([]);

describe('a terminal that is closed', () => {
  it.each([
    ['prints', 'while :; do echo y; sleep 0.01; done'],
    ['prints nothing', 'echo y; exec sleep 60'],
  ])('ends run, whose command %s, with 129 and deletes the sandbox', async (_, command) => {
    const terminal = new OnTerminal(['run', command], shell.env);
    await expect.poll(() => terminal.printed).toContain('y');
    terminal.hangUp();
    expect((await terminal.ended).code).toBe(129);
    await expectNoSandbox();
  });

  it('ends shell with 129 and deletes the sandbox', async () => {
    const terminal = new OnTerminal(['shell'], shell.env);
    const { terminals } = shell.api.service.connector;
    await expect.poll(() => terminals.all.size).toBe(1);
    terminals.newest.print('ready$ ');
    await expect.poll(() => terminal.printed).toContain('ready$ ');
    terminal.hangUp();
    expect((await terminal.ended).code).toBe(129);
    await expectNoSandbox();
  });
});

describe('a full disk', () => {
  const runOnFullDisk = async (...args: string[]) => {
    const command = ['-c', 'exec "$@" > /dev/full', 'bash', process.execPath, mayflyPath, ...args];
    const child = spawn('bash', command, { env: { ...process.env, ...shell.env } });
    child.stdin.end();
    const [[code], stderr] = await Promise.all([once(child, 'close'), text(child.stderr)]);
    return { code: code as number | null, stderr };
  };
  const oneLine = expect.stringMatching(/^error: The output could not be written: ENOSPC[^\n]*\n$/);

  it('is one line on stderr', async () => {
    expect(await runOnFullDisk('ls', '--json')).toEqual({ code: 1, stderr: oneLine });
  });

  it('ends run with 125 and deletes the sandbox', async () => {
    expect(await runOnFullDisk('run', 'echo hi; sleep 0.5')).toEqual({ code: 125, stderr: oneLine });
    expect(await runOnFullDisk('run', 'echo hi')).toEqual({ code: 125, stderr: oneLine });
    await expectNoSandbox();
  });
});

describe('Ctrl-C while the service does not answer', () => {
  it.each([
    [['shell', 'web'], 'the sandbox is looked up', /^GET \/v1\/sandboxes/],
    [['shell', 'web'], 'the terminal is opened', /^POST \/v1\/tickets/],
    [['cp', 'web:notes', '-'], 'the sandbox is looked up', /^GET \/v1\/sandboxes/],
  ])('ends %j while %s', async (args, _, path) => {
    await using proxy = await FaultyProxy.open(shell.api.url);
    const { id } = await shell.api.client().sandboxes.create({ name: 'web' });
    proxy.plan(path, { kind: 'hold', until: new Promise(() => {}) });
    const terminal = new OnTerminal(args, { ...shell.env, MAYFLY_BASE_URL: proxy.url });
    await expect.poll(() => proxy.count(path)).toBe(1);
    terminal.type('\x03');
    expect(await terminal.ended).toEqual({ code: 130, isRestored: true });
    await shell.api.client().sandboxes.delete(id);
  });
});

it('SIGTERM ends a question, and nothing is deleted', async () => {
  const { id } = await shell.api.client().sandboxes.create();
  const terminal = new OnTerminal(['rm', '--all'], shell.env);
  await expect.poll(() => terminal.printed).toContain('[y/N]');
  terminal.kill('SIGTERM');
  expect(await terminal.ended).toEqual({ code: 143, isRestored: true });
  expect(await shell.sandboxes()).toEqual([id]);
  await shell.api.client().sandboxes.delete(id);
});
