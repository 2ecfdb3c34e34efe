import type { File } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { type ApiResponse, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });
const mib = 1_048_576;

function put(body: unknown): Promise<ApiResponse<File>> {
  return target.api.put<File>(`/sandboxes/${target.sandbox.id}/files`, body);
}

async function write(body: unknown): Promise<File> {
  return expectStatus(await put(body), 201);
}

async function expectInvalid(body: unknown): Promise<string> {
  return expectError(await put(body), 400, 'invalid_request');
}

function run(command: string): Promise<string> {
  return target.api.output(target.sandbox.id, command);
}

describe('PUT /sandboxes/{id}/files', () => {
  it('201: File with the absolute path and the size actually on disk', async () => {
    expect(await write({ path: '/workspace/size.txt', content: 'é🦋\n' })).toMatchObject({
      sandbox_id: target.sandbox.id,
      path: '/workspace/size.txt',
      bytes: 7,
    });
    expect(await run('stat -c %s size.txt')).toBe('7');
  });

  it('a relative path resolves inside /workspace', async () => {
    expect((await write({ path: 'notes/../a.txt', content: 'a' })).path).toBe('/workspace/a.txt');
    expect(await run('cat /workspace/a.txt')).toBe('a');
  });

  it('a relative path out of /workspace, no path, NUL: 400 invalid_request', async () => {
    for (const path of ['../etc/x', 'a/../../x', '..', '', 'a\0b', undefined, null, 7]) {
      expect(await expectInvalid({ path, content: '' })).toContain('path');
    }
    expect(await expectInvalid({})).toMatch(/path.*;.*content|content.*;.*path/);
    expect(await expectInvalid({ path: 'a', content: 5 })).toContain('content');
  });

  it('content is transferred verbatim, never interpreted by a shell', async () => {
    const content = '$(touch /tmp/pwned) `touch /tmp/pwned`\r\n\t"\'\\n %s $HOME; rm -rf /\u0000\u001b[0m\u2028 end';
    const path = 'odd \'$(touch pwned)\' "name"\n🦋.txt';
    const { bytes } = await write({ path, content });
    expect(bytes).toBe(Buffer.byteLength(content));
    const read = await target.api.get<File>(`/sandboxes/${target.sandbox.id}/files?path=${encodeURIComponent(path)}`);
    expect(expectStatus(read, 200).content).toBe(content);
    expect(await run('ls /tmp/pwned pwned 2>/dev/null | wc -l')).toBe('0');
  });

  it('encoding defaults to utf8; base64 carries any bytes', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
    await write({ path: 'binary', content: bytes.toString('base64'), encoding: 'base64' });
    expect(await run('base64 -w0 binary')).toBe(bytes.toString('base64'));
    await write({ path: 'text', content: 'aGk=' });
    expect(await run('cat text')).toBe('aGk=');
    await write({ path: 'text', content: 'aGk=', encoding: 'utf8' });
    expect(await run('cat text')).toBe('aGk=');
    expect((await write({ path: 'empty', content: '', encoding: 'base64' })).bytes).toBe(0);
  });

  it('an unknown encoding or invalid base64: 400 invalid_request, and the old file is kept', async () => {
    await write({ path: 'kept', content: 'old' });
    for (const encoding of ['latin1', 'UTF8', 'hex', 7]) {
      expect(await expectInvalid({ path: 'kept', content: 'new', encoding })).toContain('encoding');
    }
    for (const content of ['not base64!', 'aGk', 'aGk=a', 'é===']) {
      expect(await expectInvalid({ path: 'kept', content, encoding: 'base64' })).toMatch(/base64|content/);
    }
    expect(await run('cat kept')).toBe('old');
  });

  it('creates parent folders and replaces an existing file, keeping its mode; the user owns the file', async () => {
    await write({ path: 'deep/er/still/file.sh', content: 'echo one' });
    await run('chmod 751 deep/er/still/file.sh');
    await write({ path: 'deep/er/still/file.sh', content: 'echo two' });
    expect(await run('stat -c %a:%U deep/er/still/file.sh; ./deep/er/still/file.sh; id -un')).toMatch(
      /^751:(\S+)\ntwo\n\1$/,
    );
  });

  it('writes through a symlink', async () => {
    await run('echo old > target; ln -sf target link');
    await write({ path: 'link', content: 'new\n' });
    expect(await run('cat target; readlink link')).toBe('new\ntarget');
  });

  it.each([
    '/etc/conformance',
    '/proc/conformance',
    '/workspace',
    '/tmp',
    '/dev/null',
    '/etc/passwd/x',
    `/tmp/${'n'.repeat(300)}`,
  ])('400 write_failed: %.20s cannot be written, and nothing is', async (path) => {
    const state = () => run(`stat -c '%F %s %a %U' "${path}" 2>&1 || true`);
    const before = await state();
    expectError(await put({ path, content: 'x' }), 400, 'write_failed');
    expect(await state()).toBe(before);
  });

  it('maximum file size 8 MiB in either encoding; one byte more is 413 file_too_large', async () => {
    const largest = Buffer.alloc(8 * mib, 'm');
    expect((await write({ path: 'most', content: largest.toString('base64'), encoding: 'base64' })).bytes).toBe(
      8 * mib,
    );
    expect((await write({ path: 'most', content: largest.toString('utf8') })).bytes).toBe(8 * mib);
    expect(await run('stat -c %s most; tr -d m < most | wc -c')).toBe(`${8 * mib}\n0`);
    const tooLarge = Buffer.alloc(8 * mib + 1, 'n');
    expectError(
      await put({ path: 'most', content: tooLarge.toString('base64'), encoding: 'base64' }),
      413,
      'file_too_large',
    );
    expectError(await put({ path: 'most', content: tooLarge.toString('utf8') }), 413, 'file_too_large');
    expect(await run('head -c 1 most; rm most')).toBe('m');
  });

  it('the maximum size counts bytes, not characters', async () => {
    expectError(await put({ path: 'wide', content: 'é'.repeat(4 * mib + 1) }), 413, 'file_too_large');
    expect((await write({ path: 'wide', content: 'é'.repeat(4 * mib) })).bytes).toBe(8 * mib);
    await run('rm wide');
  });

  it('400 write_failed: full disk; nothing was written and the old file is kept', async () => {
    await write({ path: 'kept.txt', content: 'old' });
    const sizes = '4G 1G 256M 64M 16M 4M 1M 256K 64K 16K 4K';
    await run(
      `n=0; for size in ${sizes}; do while fallocate -l $size fill$((n+=1)) 2>/dev/null; do :; done; done; sync`,
    );
    const content = 'x'.repeat(2 * mib);
    expectError(await put({ path: 'kept.txt', content }), 400, 'write_failed');
    expectError(await put({ path: 'new.txt', content }), 400, 'write_failed');
    expect(await run('cat kept.txt; ls new.txt 2>/dev/null | wc -l; rm -f fill*')).toBe('old0');
    await write({ path: 'kept.txt', content });
  });

  it('concurrent writes to one file leave the complete content of one of them', async () => {
    const contents = Array.from({ length: 8 }, (_, at) => String(at).repeat(200_000));
    await Promise.all(contents.map((content) => write({ path: 'raced', content })));
    const [digits, size] = (await run('fold -w1 raced | sort -u | wc -l; stat -c %s raced')).split('\n');
    expect([digits, size]).toEqual(['1', '200000']);
  });

  it('404 for a sandbox that does not exist', async () => {
    expectError(await target.api.put('/sandboxes/sbx_unknown/files', { path: 'a', content: 'a' }), 404, 'not_found');
  });
});
