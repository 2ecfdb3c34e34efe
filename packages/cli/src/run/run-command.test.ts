import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FaultyProxy } from '../../../sdk/test/faulty-proxy.ts';
import { HostShell } from '../../test/host-shell.ts';
import { mayfly, mayflyInProcess, startMayfly } from '../../test/mayfly.ts';

let shell: HostShell;
beforeAll(async () => {
  shell = await HostShell.start();
});
afterAll(() => shell[Symbol.asyncDispose]());

const run = (...args: string[]) => mayflyInProcess(['run', ...args], shell.env);
const expectNoSandbox = async () => expect(await shell.sandboxes()).toEqual([]);

describe('mayfly run', () => {
  it('prints what the command prints, ends with its code and leaves no sandbox', async () => {
    expect(await run('echo hi; echo oops >&2; exit 3')).toMatchObject({ code: 3, stdout: 'hi\n', stderr: 'oops\n' });
    expect(await run('true')).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect((await run('no-such-program')).code).toBe(127);
    await expectNoSandbox();
  });

  it('keeps bytes as they are', async () => {
    const { bytes } = await run(String.raw`printf '\xff\x00\xc3\xbc'`);
    expect([...bytes]).toEqual([0xff, 0, 0xc3, 0xbc]);
  });

  it('several words are a program with its arguments', async () => {
    expect((await run('--', 'printf', '%s|', '$HOME', "it's", '*')).stdout).toBe("$HOME|it's|*|");
  });

  it('passes on the environment, the working directory and the timeout', async () => {
    const { stdout } = await run('-e', 'A=1=2', '--env', 'B=', '--cwd', '/', '--timeout', '7', 'echo "$A,$B,$PWD"');
    expect(stdout).toBe('1=2,,/\n');
    expect(shell.commands.at(-1)?.request.timeoutMs).toBe(7_000);
  });

  it('-e NAME takes the value from the environment of mayfly, or leaves the variable out', async () => {
    const args = ['run', '-e', 'TOKEN', '-e', 'UNSET_HERE', 'echo "$TOKEN,$UNSET_HERE"; env | grep -c UNSET_HERE'];
    expect((await mayflyInProcess(args, { ...shell.env, TOKEN: 'a=b' })).stdout).toBe('a=b,\n0\n');
  });

  it('leaves options after the first word to the command', async () => {
    expect((await run('--name', 'x', 'printf', '%s|', '-e', '--json', '--', '-f', '--help')).stdout).toBe(
      '-e|--json|--|-f|--help|',
    );
  });

  it('creates the sandbox that was asked for, and keeps it if told to', async () => {
    const { stderr, code } = await run('--size', 'medium', '--name', 'mine', '--lifetime', '9', '--keep', 'true');
    const [id = ''] = await shell.sandboxes();
    const sandbox = await shell.api.client().sandboxes.get(id);
    expect(sandbox.info).toMatchObject({ size: 'medium', name: 'mine', timeoutMinutes: 9 });
    expect(code).toBe(0);
    expect(stderr).toBe(`Sandbox ${id} is kept until ${sandbox.expiresAt?.toISOString()}.\n`);
    await sandbox.delete();
  });

  it('--json prints the execution and nothing else', async () => {
    const { stdout, code } = await run('--json', 'echo hi; exit 4');
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ object: 'execution', exit_code: 4, sandbox_id: expect.any(String) });
  });

  it('runs a script by its shebang or its ending', async () => {
    const write = (name: string, text: string) => {
      writeFileSync(join(shell.folder, name), text);
      return join(shell.folder, name);
    };
    // The stub keeps files apart from the disk that commands see, so the command itself is what can be compared.
    await run('-f', write('hello.py', 'print(1)'), 'a b', '-x');
    expect(shell.commands.at(-1)?.request.command).toBe("exec -- python3 /tmp/mayfly-run/hello.py 'a b' -x");
    expect(String(shell.api.service.connector.files.contents.get('/tmp/mayfly-run/hello.py'))).toBe('print(1)');
    await run('-f', write('tool', '#!/bin/sh\n'), 'x');
    expect(shell.commands.at(-1)?.request.command).toMatch(/^exec -- bash -c '.*exec.*' \/tmp\/mayfly-run\/tool x$/);
    expect(await run('-f', write('notes.txt', 'hello'))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/notes\.txt does not say what runs it\. Begin it with a line like #!/),
    });
    expect(await run('-f', '/nowhere.py')).toMatchObject({
      code: 2,
      stderr: 'error: /nowhere.py could not be read: ENOENT.\n',
    });
    await expectNoSandbox();
  });

  it('ends with 125 and one line if Mayfly itself fails', async () => {
    const wrongKey = await mayflyInProcess(['run', 'true'], { ...shell.env, MAYFLY_API_KEY: 'mf_wrong' });
    expect(wrongKey).toMatchObject({
      code: 125,
      stdout: '',
      stderr: expect.stringMatching(/^error: [^\n]*key[^\n]*\n$/),
    });
    const nobody = await mayflyInProcess(['run', 'true'], { ...shell.env, MAYFLY_BASE_URL: 'http://127.0.0.1:9' });
    expect(nobody).toMatchObject({ code: 125, stderr: expect.stringMatching(/^error: The connection to [^\n]*\n$/) });
    const { MAYFLY_API_KEY: _, ...noKey } = shell.env;
    expect(await mayflyInProcess(['run', 'true'], noKey)).toMatchObject({
      code: 125,
      stderr: expect.stringMatching(/^error: There is no API key [^\n]*\n$/),
    });
    expect(await run('--template', 'nonesuch', 'true')).toMatchObject({
      code: 125,
      stderr: expect.stringContaining('not_found'),
    });
    expect((await run()).code).toBe(2);
    expect((await run('--timeout', 'soon', 'true')).code).toBe(2);
    expect((await run('--env', '=A', 'true')).code).toBe(2);
  });

  it.each([
    [['--size', 'huge'], 'Allowed choices are small, medium, large'],
    [['--lifetime', '0'], '--lifetime must be an integer of at least 1'],
    [['--timeout', '1.5'], '--timeout must be an integer of at least 1'],
    [['--snapshot', 'a', '--template', 'b'], 'exclude each other'],
  ])('%j is refused as by create', async (args, message) => {
    expect(await run(...args, 'true')).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    await expectNoSandbox();
  });

  it('a sandbox that ends while the command runs is a failure of Mayfly', async () => {
    const running = run('echo started; sleep 60');
    await expect.poll(async () => (await shell.sandboxes()).length).toBe(1);
    await expect.poll(() => shell.commands.at(-1)?.written.length).toBe(1);
    for (const id of await shell.sandboxes()) await shell.api.client().sandboxes.delete(id);
    expect(await running).toMatchObject({
      code: 125,
      stderr: expect.stringMatching(/^error: Sandbox sbx_\w+ was deleted/),
    });
  });
});

describe('standard input', () => {
  it('is passed on byte for byte, and closed', async () => {
    const content = randomBytes(20 * 1024 ** 2);
    const pieces = Array.from({ length: 320 }, (_, n) => content.subarray(n * 65_536, (n + 1) * 65_536));
    const { code, stdout } = await mayflyInProcess(['run', 'sha256sum'], shell.env, pieces);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${createHash('sha256').update(content).digest('hex')}  -\n` });
  });

  it('that is never read or never ends does not hold the command up', async () => {
    async function* endless() {
      for (;;) {
        yield Buffer.alloc(65_536);
        await new Promise(setImmediate);
      }
    }
    expect((await mayflyInProcess(['run', 'exit 5'], shell.env, endless())).code).toBe(5);
    expect((await mayflyInProcess(['run', 'head -c 3 > /dev/null; exit 6'], shell.env, endless())).code).toBe(6);
  });

  it('that may have been lost on the way ends the command, and is a failure of Mayfly', async () => {
    await using proxy = await FaultyProxy.open(shell.api.url);
    proxy.plan(/^POST .*\/stdin$/, { kind: 'drop after' });
    const env = { ...shell.env, MAYFLY_BASE_URL: proxy.url };
    const { code, stderr } = await mayflyInProcess(['run', 'cat; sleep 60'], env, [Buffer.from('x')]);
    expect({ code, stderr }).toEqual({
      code: 125,
      stderr: expect.stringMatching(/^error: The connection to [^\n]+\n$/),
    });
    expect(shell.commands.at(-1)?.signals).toEqual([15]);
    await expectNoSandbox();
  });

  it('is empty if there is none', async () => {
    expect(await run('cat; echo end')).toMatchObject({ code: 0, stdout: 'end\n' });
    expect(shell.commands.at(-1)?.request.stdin).toBe(false);
    // In a process of its own, with /dev/null.
    expect(await mayfly(['run', 'cat; echo end'], shell.env)).toMatchObject({ code: 0, stdout: 'end\n' });
    expect(shell.commands.at(-1)?.request.stdin).toBe(false);
  });
});

describe('as a process', () => {
  const start = (...args: string[]) => startMayfly(['run', ...args], shell.env);
  const newest = () => shell.commands.at(-1);
  const startAndWait = async (command: string) => {
    const before = shell.commands.length;
    const started = start(command);
    await expect.poll(() => shell.commands.length).toBe(before + 1);
    await expect.poll(() => newest()?.written.length).toBeGreaterThan(0);
    return started;
  };

  it('reads a pipe to its end, and ends without waiting for one that stays open', async () => {
    const piped = start('cat; exit 9');
    piped.child.stdin.end('grüße\n');
    expect(await piped.ended).toBe(9);
    expect(String(await piped.stdout)).toBe('grüße\n');
    const open = start('echo done');
    expect(await open.ended).toBe(0);
    expect(String(await open.stdout)).toBe('done\n');
  });

  it('SIGINT is sent to the command; its end is waited for, and the sandbox is deleted', async () => {
    const { child, ended, stdout } = await startAndWait(
      'trap "echo cleaned; exit 0" INT; echo up; while :; do sleep 0.1; done',
    );
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(String(await stdout)).toBe('up\ncleaned\n');
    expect(newest()?.signals).toEqual([2]);
    await expectNoSandbox();
  });

  it('a second SIGINT kills a command that ignores the first', async () => {
    const { child, ended } = await startAndWait('trap "echo ignored" INT; echo up; while :; do sleep 0.1; done');
    child.kill('SIGINT');
    await expect.poll(() => newest()?.written.length).toBeGreaterThan(1);
    // Two that come at once count as one.
    await new Promise((resolve) => setTimeout(resolve, 700));
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(newest()?.signals).toEqual([2, 9]);
    await expectNoSandbox();
  });

  it('a second SIGINT during the create leaves at once', async () => {
    await using proxy = await FaultyProxy.open(shell.api.url);
    proxy.plan(/^POST \/v1\/sandboxes$/, { kind: 'hold', until: new Promise(() => {}) });
    const env = { ...shell.env, MAYFLY_BASE_URL: proxy.url };
    const { child, ended, stderr } = startMayfly(['run', 'true'], env);
    let said = '';
    child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
    await expect.poll(() => proxy.received.length, { timeout: 10_000 }).toBeGreaterThan(0);
    child.kill('SIGINT');
    await expect.poll(() => said).toContain('Interrupted: deleting the sandbox.');
    await new Promise((resolve) => setTimeout(resolve, 700));
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(await stderr).toBe('\nInterrupted: deleting the sandbox. Press Ctrl-C again to leave it to its expiry.\n');
    for (const id of await shell.sandboxes()) await shell.api.client().sandboxes.delete(id);
  });

  it('a third SIGINT leaves at once and says that the sandbox is left', async () => {
    await using proxy = await FaultyProxy.open(shell.api.url);
    const never = { kind: 'hold', until: new Promise<void>(() => {}) } as const;
    proxy.plan(/^POST .*\/kill$/, never, never, never);
    proxy.plan(/^DELETE /, never, never);
    const before = shell.commands.length;
    const env = { ...shell.env, MAYFLY_BASE_URL: proxy.url };
    const { child, ended, stderr } = startMayfly(['run', 'trap : INT; echo up; while :; do sleep 0.1; done'], env);
    await expect.poll(() => shell.commands.length, { timeout: 10_000 }).toBe(before + 1);
    await expect.poll(() => newest()?.written.length, { timeout: 10_000 }).toBeGreaterThan(0);
    for (const count of [1, 2]) {
      child.kill('SIGINT');
      await expect.poll(() => proxy.count(/\/kill$/), { timeout: 10_000 }).toBe(count);
      await new Promise((resolve) => setTimeout(resolve, 700));
    }
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(await stderr).toMatch(
      /^Sandbox sbx_\w+ was not deleted: Interrupted\. It keeps running until \S+\. Delete it with: mayfly rm sbx_\w+\n$/,
    );
    expect(proxy.count(/^DELETE /)).toBe(0);
    for (const id of await shell.sandboxes()) await shell.api.client().sandboxes.delete(id);
  });

  it('SIGTERM likewise', async () => {
    const { child, ended } = await startAndWait('echo up; exec sleep 60');
    child.kill('SIGTERM');
    expect(await ended).toBe(143);
    expect(newest()?.signals).toEqual([15]);
    await expectNoSandbox();
  });

  it('output that nobody reads any more ends it quietly', async () => {
    const { child, ended, stderr } = await startAndWait('while :; do echo y; sleep 0.01; done');
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await ended).toBe(141);
    expect(await stderr).toBe('');
    await expectNoSandbox();
  });
});
