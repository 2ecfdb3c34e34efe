import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ByteEntry, tarOf } from '../archive/tar.ts';
import { unpack } from './unpack.ts';

let folder: string;
let target: string;
let outside: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-unpack-'));
  target = join(folder, 'target');
  outside = join(folder, 'outside');
  mkdirSync(outside);
  writeFileSync(join(folder, 'content'), 'hostile');
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = (name: string): ByteEntry => ({
  type: 'file',
  name,
  mode: 0o644,
  bytes: 7,
  path: join(folder, 'content'),
});
const link = (name: string, to: string): ByteEntry => ({ type: 'link', name, target: to });
const unpackEntries = (...entries: ByteEntry[]) =>
  unpack(tarOf(entries), target, { mode: 0o755, mayBeLink: true, notice: () => {} });

describe('a hostile archive', () => {
  it.each([
    ['a path upwards', () => [file('../outside/x')]],
    ['a path upwards in the middle', () => [file('a/../../outside/x')]],
    ['an absolute path', () => [file(join(outside, 'x'))]],
    ['a link and a file through it', () => [link('a', outside), file('a/x')]],
    [
      'a link and a folder in its place',
      () => [link('a', outside), { type: 'folder', name: 'a', mode: 0o777 }, file('a/x')] as ByteEntry[],
    ],
    [
      'a folder that becomes a link',
      () => [{ type: 'folder', name: 'a', mode: 0o777 }, link('a', outside), file('a/x')] as ByteEntry[],
    ],
  ])('with %s writes nothing outside of its folder', async (_, entries) => {
    await expect(unpackEntries(...entries())).rejects.toThrow();
    expect(readdirSync(outside)).toEqual([]);
  });

  it('replaces a link instead of writing through it', async () => {
    writeFileSync(join(outside, 'x'), 'mine');
    await unpackEntries(link('a', join(outside, 'x')), file('a'));
    expect(readFileSync(join(outside, 'x'), 'utf8')).toBe('mine');
    expect(lstatSync(join(target, 'a')).isFile()).toBe(true);
    symlinkSync(outside, join(target, 'mine'));
    await expect(unpackEntries(file('mine/x'))).rejects.toThrow('is not a folder');
  });

  it('that is incomplete leaves the file that was there, and no temporary one', async () => {
    mkdirSync(target);
    writeFileSync(join(target, 'a'), 'mine');
    async function* cutArchive() {
      for await (const chunk of tarOf([file('a')])) {
        yield chunk;
        return;
      }
    }
    await expect(unpack(cutArchive(), target, { mode: 0o755, mayBeLink: true, notice: () => {} })).rejects.toThrow();
    expect(readFileSync(join(target, 'a'), 'utf8')).toBe('mine');
    expect(readdirSync(target)).toEqual(['a']);
  });

  it('with a path of very many parts is refused', async () => {
    async function* deep() {
      const name = 'a/'.repeat(20_000);
      const [header, content] = [Buffer.alloc(512), Buffer.alloc(Math.ceil(name.length / 512) * 512)];
      content.write(name);
      header.write(`${name.length.toString(8).padStart(11, '0')}\0`, 124);
      header.write(' '.repeat(8), 148);
      header.write('L', 156);
      header.write(
        header
          .reduce((sum, byte) => sum + byte, 0)
          .toString(8)
          .padStart(6, '0'),
        148,
      );
      yield Buffer.concat([header, content]);
      yield* tarOf([file('a')]);
    }
    await expect(unpack(deep(), target, { mode: 0o755, mayBeLink: true, notice: () => {} })).rejects.toThrow(
      'could not be written',
    );
  });

  it('gives files permission bits only', async () => {
    mkdirSync(join(folder, 'special'));
    writeFileSync(join(folder, 'special/root'), '', { mode: 0o755 });
    execFileSync('chmod', ['6755', join(folder, 'special/root')]);
    const archive = execFileSync('tar', ['--create', '--format=gnu', '--directory', join(folder, 'special'), '.']);
    await unpack(oneChunk(archive), target, { mode: 0o755, mayBeLink: true, notice: () => {} });
    expect(lstatSync(join(target, 'root')).mode & 0o7777).toBe(0o755);
  });
});

async function* oneChunk(bytes: Uint8Array) {
  yield bytes;
}

it('an archive that is cut or damaged is an error and never a wrong path', async () => {
  mkdirSync(join(folder, 'tree/deep'), { recursive: true });
  writeFileSync(join(folder, 'tree/deep', 'n'.repeat(120)), 'x'.repeat(2000));
  symlinkSync('deep', join(folder, 'tree/link'));
  const archive = execFileSync('tar', ['--create', '--format=gnu', '--directory', join(folder, 'tree'), '.']);
  const end = archive.findLastIndex((byte) => byte !== 0) + 1;
  await fc.assert(
    fc.asyncProperty(
      fc.nat(end - 1),
      fc.option(fc.integer({ min: 1, max: 255 })),
      fc.integer({ min: 1, max: 3000 }),
      async (position, change, chunkBytes) => {
        const bytes = Buffer.from(change === null ? archive.subarray(0, position) : archive);
        if (change !== null) bytes[position] = ((bytes[position] ?? 0) + change) % 256;
        async function* chunks() {
          for (let start = 0; start < bytes.length; start += chunkBytes)
            yield bytes.subarray(start, start + chunkBytes);
        }
        const outcome = await unpack(chunks(), target, { mode: 0o755, mayBeLink: true, notice: () => {} }).then(
          () => 'unpacked',
          (error: Error) => error.name,
        );
        expect(change === null ? ['Failure'] : ['Failure', 'unpacked']).toContain(outcome);
        expect(readdirSync(outside)).toEqual([]);
        if (existsSync(target)) rmSync(target, { recursive: true });
      },
    ),
    { numRuns: 100 },
  );
});
