import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
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
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HostShell } from '../../test/host-shell.ts';
import { mayflyInProcess } from '../../test/mayfly.ts';

let shell: HostShell;
let here: string;
let guest: string;
beforeAll(async () => {
  shell = await HostShell.start();
  await shell.api.client().sandboxes.create({ name: 'web' });
});
afterAll(() => shell[Symbol.asyncDispose]());
beforeEach(() => {
  here = mkdtempSync(join(tmpdir(), 'mayfly-cp-'));
  guest = mkdtempSync(join(shell.folder, 'guest-'));
});
afterEach(() => rmSync(here, { recursive: true }));

const cp = (source: string, destination: string) => mayflyInProcess(['cp', source, destination], shell.env);
const expectCopied = async (source: string, destination: string) =>
  expect(await cp(source, destination)).toMatchObject({ code: 0, stdout: '', stderr: '' });
const expectFailure = async (source: string, destination: string, message: RegExp) => {
  const { code, stderr } = await cp(source, destination);
  expect(stderr).toMatch(/^error: [^\n]+\n$/);
  expect(stderr).toMatch(message);
  expect(code).toBe(1);
};

/** What is below a folder, with modes, link targets and the hash of contents. */
function treeOf(folder: Buffer | string): Record<string, string> {
  const root = Buffer.from(folder);
  const found: Record<string, string> = { '.': (statSync(root).mode & 0o777).toString(8) };
  for (const child of readdirSync(root, { encoding: 'buffer' })) {
    const path = Buffer.concat([root, Buffer.from('/'), child]);
    const stats = lstatSync(path);
    const name = child.toString('latin1');
    const mode = (stats.mode & 0o777).toString(8);
    if (stats.isSymbolicLink()) found[name] = `-> ${readlinkSync(path, { encoding: 'buffer' }).toString('latin1')}`;
    else if (stats.isFile()) found[name] = `${mode} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
    else for (const [below, what] of Object.entries(treeOf(path))) found[`${name}/${below}`] = what;
  }
  return found;
}

function makeTree(root: string): void {
  mkdirSync(join(root, 'deep/er', 'é'.repeat(60), 'x'.repeat(200)), { recursive: true });
  writeFileSync(join(root, 'deep/er', 'é'.repeat(60), 'x'.repeat(200), 'y'.repeat(250)), 'long');
  writeFileSync(Buffer.concat([Buffer.from(`${root}/not UTF-8 `), Buffer.from([0xff, 0xfe])]), 'bytes');
  writeFileSync(join(root, '-n "quotes" \'and\' $(names)\nwith lines\\'), '');
  writeFileSync(join(root, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(root, 'secret'), randomBytes(700_000), { mode: 0o600 });
  symlinkSync('run.sh', join(root, 'link'));
  symlinkSync(`/nowhere/${'z'.repeat(200)}`, join(root, 'dangling'));
  mkdirSync(join(root, 'empty'));
  mkdirSync(join(root, 'sealed'));
  writeFileSync(join(root, 'sealed/inside'), 'x');
  chmodSync(join(root, 'sealed'), 0o555);
  chmodSync(root, 0o750);
}

describe('a folder', () => {
  it('is equal after it was copied into a sandbox and back', async () => {
    mkdirSync(join(here, 'tree'));
    makeTree(join(here, 'tree'));
    const original = treeOf(join(here, 'tree'));
    expect(Object.keys(original).length).toBeGreaterThan(12);
    await expectCopied(join(here, 'tree'), `web:${guest}/new/copy`);
    expect(treeOf(join(guest, 'new/copy'))).toEqual(original);
    await expectCopied(`web:${guest}/new/copy`, join(here, 'back'));
    expect(treeOf(join(here, 'back'))).toEqual(original);
    // Again, over what is there. Only root may write into a read-only folder.
    chmodSync(join(here, 'back/sealed'), 0o755);
    await expectCopied(`web:${guest}/new/copy/.`, join(here, 'back'));
    chmodSync(join(here, 'back/sealed'), 0o555);
    expect(treeOf(join(here, 'back'))).toEqual(original);
    for (const path of [join(here, 'tree'), join(here, 'back'), join(guest, 'new/copy')])
      chmodSync(join(path, 'sealed'), 0o755);
  });

  it('goes into a folder that exists, unless it ends with /.', async () => {
    mkdirSync(join(here, 'src'));
    writeFileSync(join(here, 'src/a'), '1');
    await expectCopied(join(here, 'src'), `web:${guest}`);
    await expectCopied(`${here}/src/.`, `web:${guest}`);
    expect(readFileSync(join(guest, 'src/a'), 'utf8') + readFileSync(join(guest, 'a'), 'utf8')).toBe('11');
    await expectCopied(`web:${guest}/src`, here);
    await expectCopied(`web:${guest}/src/.`, here);
    expect(readFileSync(join(here, 'a'), 'utf8')).toBe('1');
  });

  it('that has something special in it is copied without it', async () => {
    mkdirSync(join(guest, 'odd'));
    expect((await mayflyInProcess(['exec', 'web', `mkfifo ${guest}/odd/pipe`], shell.env)).code).toBe(0);
    const { code, stderr } = await cp(`web:${guest}/odd`, join(here, 'odd'));
    expect(code).toBe(0);
    expect(stderr).toMatch(/pipe was left out: it is neither a file nor a folder nor a link\.\n$/);
    const up = await cp(join(guest, 'odd'), `web:${guest}/up`);
    expect(up).toMatchObject({ code: 0, stderr: expect.stringContaining('pipe was left out') });
  });
});

describe('a file', () => {
  it('is copied both ways, renamed or into a folder, with its mode', async () => {
    writeFileSync(join(here, 'tool'), randomBytes(2 * 1024 ** 2), { mode: 0o711 });
    await expectCopied(join(here, 'tool'), `web:${guest}/some/folder/renamed`);
    await expectCopied(join(here, 'tool'), `web:${guest}/`);
    await expectCopied(`web:${guest}/some/folder/renamed`, join(here, 'back'));
    await expectCopied(`web:${guest}/some/folder/renamed`, here);
    const content = readFileSync(join(here, 'tool'));
    for (const path of [join(here, 'back'), join(here, 'renamed'), join(guest, 'tool')]) {
      expect(readFileSync(path).equals(content)).toBe(true);
      expect(statSync(path).mode & 0o777).toBe(0o711);
    }
  });

  it('larger than what the sandbox keeps of its output is sent at the pace at which it is read', async () => {
    const line = 'the quick brown fox jumps over the lazy dog\n';
    writeFileSync(join(guest, 'large'), line.repeat(Math.ceil((60 * 1024 ** 2) / line.length)));
    await expectCopied(`web:${guest}/large`, join(here, 'large'));
    expect(readFileSync(join(here, 'large')).equals(readFileSync(join(guest, 'large')))).toBe(true);
    // One line lets one piece of 8 MiB pass.
    expect(shell.commands.at(-1)?.stdin.join('').length).toBeGreaterThanOrEqual(8);
  });

  it('can be a standard stream', async () => {
    const bytes = randomBytes(100_000);
    expect((await mayflyInProcess(['cp', '-', `web:${guest}/piped`], shell.env, [bytes])).code).toBe(0);
    expect(readFileSync(join(guest, 'piped')).equals(bytes)).toBe(true);
    expect((await mayflyInProcess(['cp', `web:${guest}/piped`, '-'], shell.env)).bytes.equals(bytes)).toBe(true);
  });
});

describe('a hostile sandbox', () => {
  let victim: string;
  let victimFolder: string;
  beforeEach(async () => {
    victim = join(here, 'victim');
    victimFolder = join(here, 'victimdir');
    writeFileSync(victim, 'mine');
    mkdirSync(victimFolder);
    mkdirSync(join(guest, 'tree'));
    symlinkSync(victim, join(guest, 'tree/report'));
    symlinkSync(victimFolder, join(guest, 'tree/results'));
    symlinkSync(join(here, 'new'), join(guest, 'tree/dangling'));
    for (const name of ['report', 'dangling']) writeFileSync(join(guest, name), 'hostile');
    mkdirSync(join(guest, 'results'));
    writeFileSync(join(guest, 'results/x'), 'hostile');
    mkdirSync(join(here, 'out'));
    await expectCopied(`web:${guest}/tree/.`, join(here, 'out'));
  });
  afterEach(() => {
    expect(readFileSync(victim, 'utf8')).toBe('mine');
    expect(readdirSync(victimFolder)).toEqual([]);
    expect(readdirSync(here).sort()).toEqual(['out', 'victim', 'victimdir']);
    expect(readdirSync(join(here, 'out')).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it.each(['report', 'dangling'])(
    'cannot write through a link that an earlier copy has put into the folder: %s',
    async (name) => {
      await expectCopied(`web:${guest}/${name}`, join(here, 'out'));
      expect(lstatSync(join(here, 'out', name)).isFile()).toBe(true);
      expect(readFileSync(join(here, 'out', name), 'utf8')).toBe('hostile');
    },
  );

  it.each(['report', 'dangling'])('cannot write through a link to a file that the user names: %s', async (name) => {
    await expectFailure(
      `web:${guest}/${name}`,
      join(here, 'out', name),
      /is a link\. Remove it, or name where it leads/,
    );
  });

  it.each(['', '/'])('cannot unpack a folder through a link that an earlier copy has put there%s', async (slash) => {
    await expectFailure(`web:${guest}/results`, join(here, 'out') + slash, /out\/results is a link/);
    await expectFailure(`web:${guest}/results`, join(here, 'out/report'), /could not be written/);
  });
});

describe('a copy that fails', () => {
  it.each(['notes', ''])('leaves the file that was there; one that succeeds keeps its mode (%j)', async (name) => {
    writeFileSync(join(here, 'notes'), 'mine', { mode: 0o640 });
    writeFileSync(join(guest, 'notes'), 'new');
    await expectFailure('web:/proc/self/mem', join(here, 'notes'), /mem could not be read/);
    expect(readFileSync(join(here, 'notes'), 'utf8')).toBe('mine');
    expect(readdirSync(here)).toEqual(['notes']);
    await expectCopied(`web:${guest}/notes`, join(here, name));
    expect(readFileSync(join(here, 'notes'), 'utf8')).toBe('new');
    expect(statSync(join(here, 'notes')).mode & 0o777).toBe(0o640);
  });
});

describe('--json', () => {
  const json = async (...args: string[]) => {
    const { code, stdout } = await mayflyInProcess(['cp', '--json', ...args], shell.env);
    return { code, body: JSON.parse(stdout) as unknown };
  };

  it('prints what was copied', async () => {
    mkdirSync(join(here, 'src'));
    writeFileSync(join(here, 'src/a'), '12345');
    writeFileSync(join(here, 'src/b'), '678');
    symlinkSync('a', join(here, 'src/c'));
    for (const [source, destination, files, bytes] of [
      [join(here, 'src'), `web:${guest}/src`, 2, 8],
      [`web:${guest}/src`, join(here, 'back'), 2, 8],
      [join(here, 'src/a'), `web:${guest}/a`, 1, 5],
      [`web:${guest}/a`, join(here, 'a'), 1, 5],
    ] as const) {
      const copied = { object: 'copy', source, destination, files, bytes };
      expect(await json(source, destination)).toEqual({ code: 0, body: copied });
    }
  });

  it('is refused with standard output as the destination', async () => {
    writeFileSync(join(guest, 'a'), 'content');
    const refused = await json(`web:${guest}/a`, '-');
    expect(refused).toMatchObject({ code: 2, body: { error: { type: 'invalid_command_line' } } });
  });
});

it('a device or pipe that the user names is written to, also through a link', async () => {
  writeFileSync(join(guest, 'a'), 'content');
  symlinkSync('/dev/null', join(here, 'link'));
  await expectCopied(`web:${guest}/a`, join(here, 'link'));
  expect(readlinkSync(join(here, 'link'))).toBe('/dev/null');
  expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);
});

describe('errors', () => {
  it('are one clear line', async () => {
    writeFileSync(join(here, 'file'), 'x');
    writeFileSync(join(guest, 'file'), 'x');
    mkdirSync(join(here, 'folder'));
    await expectFailure(join(here, 'none'), `web:${guest}/x`, /none could not be read: it does not exist/);
    await expectFailure(`web:${guest}/none`, here, /web:\S+none could not be read: .*No such file/);
    await expectFailure(
      join(here, 'file'),
      `web:${guest}/file/below`,
      /web:\S+below could not be written: (?!mayfly-cp).*file/,
    );
    await expectFailure(join(here, 'folder'), `web:${guest}/file`, /web:\S+file could not be written: .*File exists/);
    await expectFailure(
      `web:${guest}/file`,
      join(here, 'no/such/folder'),
      /folder could not be written: it does not exist/,
    );
    await expectFailure(`web:${guest}`, join(here, 'file'), /file could not be written/);
    await expectFailure(`web:${guest}`, '-', /is a folder\. Only a file/);
    await expectFailure(join(here, 'file'), 'nothing:x', /There is no sandbox "nothing"/);
    expect((await cp('a', 'b')).code).toBe(2);
    expect((await cp('web:a', 'web:b')).code).toBe(2);
    const wrongKey = await mayflyInProcess(['cp', 'web:a', here], { ...shell.env, MAYFLY_API_KEY: 'mf_wrong' });
    expect(wrongKey).toMatchObject({ code: 3, stderr: expect.stringMatching(/^error: [^\n]+\n$/) });
  });
});
