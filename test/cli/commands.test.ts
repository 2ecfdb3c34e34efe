import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mayfly, startMayfly } from '#cli-test/mayfly.ts';
import { OnTerminal } from '#cli-test/on-terminal.ts';
import { useSharedSandbox } from '../service/shared-sandbox.ts';
import { call } from '../support/api-requests.ts';
import { length } from '../support/length.ts';

const mib = 1024 ** 2;
const inputMib = length(5, 20);
const shared = useSharedSandbox();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-cli-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const env = () => ({ MAYFLY_BASE_URL: shared.service.url, MAYFLY_API_KEY: shared.service.key, HOME: folder });
const run = (...args: string[]) => mayfly(args, env());
const sandboxes = async () => {
  const list = (await (await call(shared.service, 'GET', '/sandboxes')).json()) as { data: { id: string }[] };
  return list.data.map(({ id }) => id);
};

describe('mayfly run', () => {
  it('prints what the command prints, ends with its code, and leaves no sandbox', async () => {
    expect(await run('run', 'echo hi; echo oops >&2')).toEqual({ code: 0, stdout: 'hi\n', stderr: 'oops\n' });
    expect(await run('run', 'exit 3')).toMatchObject({ code: 3 });
    expect(await run('run', '--', 'no-such-program', '-x')).toMatchObject({ code: 127 });
    expect(await sandboxes()).toEqual([shared.sandbox.id]);
  });

  it('runs scripts by their ending and by their shebang', async () => {
    writeFileSync(join(folder, 'sum.py'), 'import sys\nprint(sum(map(int, sys.argv[1:])))\n');
    writeFileSync(join(folder, 'tool'), '#!/bin/sh\necho "$# $1"\n');
    expect(await run('run', '-f', join(folder, 'sum.py'), '40', '2')).toMatchObject({ code: 0, stdout: '42\n' });
    expect(await run('run', '-f', join(folder, 'tool'), 'a b')).toMatchObject({ code: 0, stdout: '1 a b\n' });
  });

  it(`${inputMib} MiB through standard input arrive byte for byte`, async () => {
    const content = randomBytes(inputMib * mib);
    const { child, ended, stdout } = startMayfly(['run', 'sha256sum'], env());
    child.stdin.end(content);
    expect(await ended).toBe(0);
    expect(String(await stdout)).toBe(`${createHash('sha256').update(content).digest('hex')}  -\n`);
  });

  it('does not wait for standard input that the command does not read', async () => {
    const { child, ended } = startMayfly(['run', 'head -c 1 > /dev/null; exit 4'], env());
    child.stdin.write(randomBytes(4 * mib));
    expect(await ended).toBe(4);
  });

  it('SIGINT ends the command and deletes the sandbox', async () => {
    const { child, ended, stdout } = startMayfly(
      ['run', 'trap "echo cleaned; exit" INT; echo up; sleep 600 & wait'],
      env(),
    );
    let printed = '';
    child.stdout.on('data', (bytes: Buffer) => (printed += bytes));
    await expect.poll(() => printed).toContain('up');
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(String(await stdout)).toBe('up\ncleaned\n');
    expect(await sandboxes()).toEqual([shared.sandbox.id]);
  });
});

describe('mayfly exec and logs', () => {
  it('a command in the background is followed by its id', async () => {
    const started = await run('exec', '-d', shared.sandbox.id, 'for i in 1 2 3; do echo line $i; sleep 0.5; done');
    const id = started.stdout.trim();
    expect(await run('logs', '-f', id)).toEqual({ code: 0, stdout: 'line 1\nline 2\nline 3\n', stderr: '' });
    expect((await run('logs', shared.sandbox.id)).stdout).toContain(id);
  });
});

describe('on a terminal', () => {
  it('a shell follows the size, passes Ctrl-C to the guest and ends with its code', async () => {
    const terminal = new OnTerminal(['shell', shared.sandbox.id], env());
    await expect.poll(() => terminal.printed).toMatch(/\$ /);
    terminal.type('stty size\r');
    await expect.poll(() => terminal.printed).toContain('30 100');
    terminal.resize(77, 11);
    // The shell learns of the size a moment later.
    terminal.type('until [ "$(stty size)" = "11 77" ]; do sleep 0.1; done; echo res""ized\r');
    await expect.poll(() => terminal.printed).toContain('resized');
    // A command of its own has the terminal before it prints. Between two commands the shell would get the signal, and then wait for the second.
    terminal.type(`bash -c 'echo sleep""ing; exec sleep 600'\r`);
    await expect.poll(() => terminal.printed).toContain('sleeping');
    terminal.type('\x03');
    // The next prompt: a line that is typed before it would be cut.
    await expect.poll(() => terminal.printed).toMatch(/sleeping.*\^C.*\$ $/s);
    terminal.type('echo after""wards\r');
    await expect.poll(() => terminal.printed).toContain('afterwards');
    terminal.type('exit 7\r');
    expect(await terminal.ended).toEqual({ code: 7, isRestored: true });
  });

  it('exec -t runs one command on a terminal and shows only that', async () => {
    const terminal = new OnTerminal(['exec', '-t', shared.sandbox.id, 'tty > /dev/null && stty size; exit 5'], env());
    expect(await terminal.ended).toEqual({ code: 5, isRestored: true });
    // Raw mode of Node.js adds a carriage return to every line feed; terminals show no difference.
    expect(terminal.printed.replaceAll('\r', '')).toBe('30 100\n');
  });
});

describe('mayfly cp', () => {
  it('a folder is equal after it was copied into the sandbox and back', async () => {
    const source = join(folder, 'tree');
    mkdirSync(join(source, 'deep', 'x'.repeat(150)), { recursive: true });
    writeFileSync(join(source, 'deep', 'x'.repeat(150), "name with 'quotes'\nand é"), 'text');
    writeFileSync(Buffer.concat([Buffer.from(`${source}/not UTF-8 `), Buffer.from([0xff])]), 'bytes');
    writeFileSync(join(source, 'large'), randomBytes(9 * mib), { mode: 0o600 });
    writeFileSync(join(source, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    symlinkSync('run.sh', join(source, 'link'));
    symlinkSync('/nowhere', join(source, 'dangling'));
    mkdirSync(join(source, 'empty'));
    chmodSync(source, 0o750);
    expect(await run('cp', source, `${shared.sandbox.id}:copied/tree`)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await run('cp', `${shared.sandbox.id}:copied/tree`, join(folder, 'back'))).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(treeOf(join(folder, 'back'))).toEqual(treeOf(source));
  });

  it('a file larger than what is kept of its output comes back whole', async () => {
    // Random bytes are slow to make in an emulated machine, so most of them are repeated, each time after another number.
    const make =
      'head -c 1M /dev/urandom > part; for at in {1..66}; do echo $at; cat part; done > large; sha256sum < large > sum';
    await run('exec', shared.sandbox.id, make);
    expect(await run('cp', `${shared.sandbox.id}:large`, join(folder, 'large'))).toMatchObject({ code: 0, stderr: '' });
    const { stdout } = await run('cp', `${shared.sandbox.id}:sum`, '-');
    expect(stdout).toBe(
      `${createHash('sha256')
        .update(readFileSync(join(folder, 'large')))
        .digest('hex')}  -\n`,
    );
  });

  it('what cannot be read or written is one line', async () => {
    const missing = await run('cp', `${shared.sandbox.id}:none`, folder);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: [^\n]*No such file[^\n]*\n$/) });
    writeFileSync(join(folder, 'file'), 'x');
    const forbidden = await run('cp', join(folder, 'file'), `${shared.sandbox.id}:/etc/mine`);
    expect(forbidden).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: [^\n]*ermission denied[^\n]*\n$/),
    });
  });
});

/** What is below a folder, with modes, link targets and the hash of contents. */
function treeOf(root: string): Record<string, string> {
  const entries = readdirSync(Buffer.from(root), { encoding: 'buffer', recursive: false, withFileTypes: true });
  const found: Record<string, string> = { '': (statSync(root).mode & 0o777).toString(8) };
  for (const entry of entries) {
    const path = Buffer.concat([Buffer.from(`${root}/`), entry.name]);
    const name = entry.name.toString('latin1');
    if (entry.isSymbolicLink()) found[name] = `-> ${readlinkSync(path)}`;
    else if (entry.isDirectory()) {
      for (const [below, what] of Object.entries(treeOf(path.toString()))) found[`${name}/${below}`] = what;
    } else {
      const mode = (statSync(path).mode & 0o777).toString(8);
      found[name] = `${mode} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
    }
  }
  return found;
}
