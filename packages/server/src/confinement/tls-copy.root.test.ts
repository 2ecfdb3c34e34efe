import { mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../../test/network/self-signed.ts';
import { RecordedLog } from '../../test/recorded-log.ts';
import { copyTlsFiles, TlsFileError } from './tls-copy.ts';

describe.runIf(process.getuid?.() === 0)('copies of the operator’s certificate', () => {
  const gid = 2_100_200;
  let base: string;
  let log: RecordedLog;
  const at = (name: string) => join(base, name);
  const second = selfSigned(['second.example.com'], []);
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
    await put('second.crt', second.cert);
    await put('second.key', second.key);
    await using copies = await copy();
    for (const name of ['crt', 'key']) {
      await symlink(at(`second.${name}`), at('link'));
      await rename(at('link'), at(`tls.${name}`));
    }
    await expect.poll(() => readFile(copies.paths.keyFile, 'utf8')).toBe(second.key);
    await expect.poll(() => readFile(copies.paths.certFile, 'utf8')).toBe(second.cert);
  });

  it('stay when the operator’s files are missing for a while, and the log says so', async () => {
    await using copies = await copy();
    await rm(at('tls.key'));
    await expect.poll(() => log.lines.length).toBeGreaterThan(0);
    expect(await readFile(copies.paths.keyFile, 'utf8')).toBe('first key');
    await put('tls.crt', second.cert);
    await put('tls.key', second.key);
    await expect.poll(() => readFile(copies.paths.keyFile, 'utf8')).toBe(second.key);
  });

  it('stay a pair while the operator’s files are renewed one after the other', async () => {
    await using copies = await copy();
    await put('tls.crt', second.cert);
    await expect.poll(() => log.lines.length).toBeGreaterThan(1);
    expect(await readFile(copies.paths.certFile, 'utf8')).toBe('first certificate');
    const third = selfSigned(['third.example.com'], []);
    await put('tls.key', third.key);
    const logged = log.lines.length;
    await expect.poll(() => log.lines.length).toBeGreaterThan(logged + 1);
    expect(String(log.lines.at(-1)?.fields.err)).toContain('do not belong together');
    expect(await readFile(copies.paths.certFile, 'utf8')).toBe('first certificate');
    await put('tls.crt', third.cert);
    await expect.poll(() => readFile(copies.paths.certFile, 'utf8')).toBe(third.cert);
    // It is replaced after the certificate.
    await expect.poll(() => readFile(copies.paths.keyFile, 'utf8')).toBe(third.key);
  });

  it('stay when the process that made them ends, and come back when they are deleted', async () => {
    await put('tls.crt', second.cert);
    await put('tls.key', second.key);
    await (await copy())[Symbol.asyncDispose]();
    expect((await readdir(at('copy'))).toSorted()).toEqual(['tls.crt', 'tls.key']);
    await using copies = await copy();
    await rm(copies.paths.keyFile);
    await expect.poll(() => readFile(copies.paths.keyFile, 'utf8').catch(() => '')).toBe(second.key);
  });

  it('cannot be made of files that cannot be read', async () => {
    await rm(at('tls.crt'));
    const missing = await copy().catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(TlsFileError);
    expect(String(missing)).toMatch(/Cannot read .*tls\.crt \(ENOENT.*\)\. Check MAYFLY_TLS_CERT/);
    await put('tls.crt', 'x'.repeat(1024 ** 2 + 1));
    await expect(copy()).rejects.toThrow('it is not a certificate or key');
  });
});
