import { mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { copyTlsFiles } from './tls-copy.ts';

describe.runIf(process.getuid?.() === 0)('copies of the operator’s certificate', () => {
  const gid = 2_100_200;
  let base: string;
  let log: RecordedLog;
  const at = (name: string) => join(base, name);
  const put = (name: string, text: string) => writeFile(at(name), text, { mode: 0o600 });
  const copy = () =>
    copyTlsFiles({ certFile: at('tls.crt'), keyFile: at('tls.key') }, { folder: at('copy'), gid, log, periodMs: 5 });
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'mayfly-tls-copy-'));
    log = new RecordedLog();
    await put('tls.crt', 'first certificate');
    await put('tls.key', 'first key');
  });
  afterEach(() => rm(base, { recursive: true }));

  it('are for root and the service’s group only', async () => {
    await using copies = await copy();
    for (const [path, mode] of [
      [at('copy'), 0o40750],
      [copies.paths.certFile, 0o100640],
      [copies.paths.keyFile, 0o100640],
    ] as const) {
      expect(await stat(path)).toMatchObject({ mode, uid: 0, gid });
    }
    expect(await readFile(copies.paths.keyFile, 'utf8')).toBe('first key');
  });

  it('follow a renewal that replaces links', async () => {
    await put('second.crt', 'second certificate');
    await put('second.key', 'second key');
    await using copies = await copy();
    for (const name of ['crt', 'key']) {
      await symlink(at(`second.${name}`), at('link'));
      await rename(at('link'), at(`tls.${name}`));
    }
    await expect.poll(() => readFile(copies.paths.keyFile, 'utf8')).toBe('second key');
    await expect.poll(() => readFile(copies.paths.certFile, 'utf8')).toBe('second certificate');
  });

  it('stay when the operator’s files are missing for a while, and the log says so', async () => {
    await using copies = await copy();
    await rm(at('tls.key'));
    await expect.poll(() => log.lines.length).toBeGreaterThan(0);
    expect(await readFile(copies.paths.keyFile, 'utf8')).toBe('first key');
    await put('tls.key', 'second key');
    await expect.poll(() => readFile(copies.paths.keyFile, 'utf8')).toBe('second key');
  });

  it('are removed with the process that made them', async () => {
    await (await copy())[Symbol.asyncDispose]();
    expect((await readdir(base)).toSorted()).toEqual(['tls.crt', 'tls.key']);
  });

  it('stay for a service that systemd started, and are refreshed by the next process', async () => {
    const options = { folder: at('copy'), gid, log, keep: true };
    const files = { certFile: at('tls.crt'), keyFile: at('tls.key') };
    await (await copyTlsFiles(files, options))[Symbol.asyncDispose]();
    expect(await readFile(at('copy/tls.key'), 'utf8')).toBe('first key');
    await put('tls.key', 'second key');
    await (await copyTlsFiles(files, options))[Symbol.asyncDispose]();
    expect(await readFile(at('copy/tls.key'), 'utf8')).toBe('second key');
  });

  it('cannot be made of files that cannot be read', async () => {
    await rm(at('tls.crt'));
    await expect(copy()).rejects.toThrow('ENOENT');
    await put('tls.crt', 'x'.repeat(1024 ** 2 + 1));
    await expect(copy()).rejects.toThrow('it is no certificate or key');
  });
});
