import { afterAll, beforeAll, expect, it } from 'vitest';
import { HostShell } from '../../test/host-shell.ts';
import { mayflyInProcess } from '../../test/mayfly.ts';

let shell: HostShell;
let id: string;
beforeAll(async () => {
  shell = await HostShell.start();
  ({ id } = await shell.api.client().sandboxes.create({ name: 'web' }));
});
afterAll(() => shell[Symbol.asyncDispose]());

const mayfly = (...args: string[]) => mayflyInProcess(args, shell.env);

it('runs in the sandbox that was named, and leaves it alone', async () => {
  expect(await mayfly('exec', 'web', 'echo hi; exit 3')).toMatchObject({ code: 3, stdout: 'hi\n', stderr: '' });
  expect((await mayfly('exec', id.slice(0, 12), '-e', 'A=x', '--', 'printenv', 'A')).stdout).toBe('x\n');
  expect(await shell.sandboxes()).toEqual([id]);
});

it('leaves options after the first word of the command to the command', async () => {
  const { stdout } = await mayfly('exec', '-e', 'A=x', 'web', '-e', 'B=y', 'printf', '%s|', '-d', '-i', '--', '--json');
  expect(stdout).toBe('-d|-i|--|--json|');
  expect(shell.commands.at(-1)?.request.env).toMatchObject({ A: 'x', B: 'y' });
  expect(await mayfly('exec', 'web', '--nonesuch', 'ls')).toMatchObject({ code: 2, stdout: '' });
  expect(await mayfly('exec', 'web', '--cwd', '/', '--', '-x', 'y')).toMatchObject({ code: 127 });
  expect(await mayfly('exec', 'web', '--help')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Usage: mayfly exec'),
  });
});

it('standard input is passed on', async () => {
  const { stdout } = await mayflyInProcess(['exec', 'web', 'tr a-z A-Z'], shell.env, [Buffer.from('quiet')]);
  expect(stdout).toBe('QUIET');
});

it('--json prints the execution', async () => {
  const { stdout } = await mayfly('exec', '--json', 'web', 'echo hi');
  expect(JSON.parse(stdout)).toMatchObject({ object: 'execution', sandbox_id: id, exit_code: 0 });
});

it('an unknown sandbox is a failure of Mayfly', async () => {
  expect(JSON.parse((await mayfly('exec', '--json', 'nothing', 'true')).stdout)).toMatchObject({
    error: { type: 'not_found' },
  });
  expect(await mayfly('exec', 'nothing', 'true')).toMatchObject({
    code: 125,
    stderr: expect.stringMatching(/^error: There is no sandbox "nothing"\.[^\n]*\n$/),
  });
  expect((await mayfly('exec', 'web')).code).toBe(2);
});

it('-d prints the id of the execution, whose output logs shows later', async () => {
  const { stdout, code } = await mayfly('exec', '-d', 'web', 'echo one; read line < wait; printf "two\\xff"');
  expect(code).toBe(0);
  const execution = stdout.trim();
  expect(execution).toMatch(/^exec_\w+$/);
  const command = shell.commands.at(-1);
  expect(command?.request.stdin).toBe(false);
  await expect.poll(() => command?.written.length).toBeGreaterThan(0);
  // Without -f it shows what has arrived within a moment.
  await expect.poll(async () => (await mayfly('logs', execution)).stdout).toContain('one\n');
  const following = mayfly('logs', '-f', execution);
  command?.print('stdout', Buffer.from([0x74, 0xff]));
  command?.onSignal(15);
  expect([...(await following).bytes]).toContain(0xff);
  expect((await mayfly('logs', execution)).bytes).toEqual((await following).bytes);
});

it('logs of a command that prints all the time ends by itself, and says how to go on', async () => {
  const { stdout } = await mayfly('exec', '-d', 'web', 'while :; do echo again; sleep 0.05; done');
  const shown = await mayfly('logs', stdout.trim());
  expect(shown).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^(?:again\n)+$/),
    stderr: `The command is running. Follow it with: mayfly logs -f ${stdout.trim()}\n`,
  });
  shell.commands.at(-1)?.onSignal(9);
});

it('an error with --json keeps its type', async () => {
  const errorOf = async (...args: string[]) => {
    const { code, stdout } = await mayfly(...args);
    return [code, (JSON.parse(stdout) as { error: { type: string } }).error.type];
  };
  expect(await errorOf('exec', '--json', 'nothing', 'true')).toEqual([125, 'not_found']);
  const nowhere = ['--url', 'http://127.0.0.1:1'];
  expect(await errorOf('exec', '--json', ...nowhere, 'web', 'true')).toEqual([125, 'connection_failed']);
});

it('logs lists the commands of a sandbox, newest last', async () => {
  shell.api.service.clock.advanceMs(1_000);
  await mayfly('exec', 'web', 'exit 42');
  const { stdout, code } = await mayfly('logs', 'web');
  const lines = stdout.trim().split('\n');
  expect(code).toBe(0);
  expect(lines.at(-1)).toMatch(/^exec_\w+\tcompleted\t42\t20\d\d-[^\t]+Z\t[\d.]+$/);
  const listed = JSON.parse((await mayfly('logs', '--json', 'web')).stdout) as { data: unknown[] };
  expect(listed).toMatchObject({ object: 'list', has_more: false });
  expect(listed.data.length).toBe(lines.length);
  expect(await mayfly('logs', 'exec_unknown')).toMatchObject({
    code: 1,
    stderr: 'error: There is no execution exec_unknown. List the executions of a sandbox with: mayfly logs SANDBOX\n',
  });
});
