import { describe, expect, it } from 'vitest';
import { type Answer, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { FileBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({ sandbox: true });
const mib = 1_048_576;

const put = (body: unknown): Promise<Answer<FileBody>> =>
  subject.api.put<FileBody>(`/sandboxes/${subject.sandbox.id}/files`, body);
const write = async (body: unknown): Promise<FileBody> => expectStatus(await put(body), 201);
const refuse = async (body: unknown): Promise<string> => expectError(await put(body), 400, 'invalid_request');
const inside = (command: string): Promise<string> => subject.api.output(subject.sandbox.id, command);

describe('PUT /sandboxes/{id}/files', () => {
  it('201: File with the absolute path and the size actually on disk', async () => {
    expect(await write({ path: '/workspace/size.txt', content: 'é🦋\n' })).toMatchObject({
      sandbox_id: subject.sandbox.id,
      path: '/workspace/size.txt',
      bytes: 7,
    });
    expect(await inside('stat -c %s size.txt')).toBe('7');
  });

  it('a relative path resolves inside /workspace', async () => {
    expect((await write({ path: 'notes/../a.txt', content: 'a' })).path).toBe('/workspace/a.txt');
    expect(await inside('cat /workspace/a.txt')).toBe('a');
  });

  it('a relative path that climbs out of /workspace, no path, NUL: 400 invalid_request', async () => {
    for (const path of ['../etc/x', 'a/../../x', '..', '', 'a\0b', undefined, null, 7]) {
      expect(await refuse({ path, content: '' })).toContain('path');
    }
    expect(await refuse({})).toMatch(/path.*;.*content|content.*;.*path/);
    expect(await refuse({ path: 'a', content: 5 })).toContain('content');
  });

  it('content is transferred verbatim, never interpreted by a shell', async () => {
    const content = '$(touch /tmp/pwned) `touch /tmp/pwned`\r\n\t"\'\\n %s $HOME; rm -rf /\u0000\u001b[0m\u2028 end';
    const path = 'odd \'$(touch pwned)\' "name"\n🦋.txt';
    const { bytes } = await write({ path, content });
    expect(bytes).toBe(Buffer.byteLength(content));
    const read = await subject.api.get<FileBody>(
      `/sandboxes/${subject.sandbox.id}/files?path=${encodeURIComponent(path)}`,
    );
    expect(expectStatus(read, 200).content).toBe(content);
    expect(await inside('ls /tmp/pwned pwned 2>/dev/null | wc -l')).toBe('0');
  });

  it('encoding is utf8 unless told; base64 carries any bytes', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
    await write({ path: 'binary', content: bytes.toString('base64'), encoding: 'base64' });
    expect(await inside('base64 -w0 binary')).toBe(bytes.toString('base64'));
    await write({ path: 'text', content: 'aGk=' });
    expect(await inside('cat text')).toBe('aGk=');
    await write({ path: 'text', content: 'aGk=', encoding: 'utf8' });
    expect(await inside('cat text')).toBe('aGk=');
    expect((await write({ path: 'empty', content: '', encoding: 'base64' })).bytes).toBe(0);
  });

  it('another encoding, or base64 that is none: 400 invalid_request, and the old file is kept', async () => {
    await write({ path: 'kept', content: 'old' });
    for (const encoding of ['latin1', 'UTF8', 'hex', 7]) {
      expect(await refuse({ path: 'kept', content: 'new', encoding })).toContain('encoding');
    }
    for (const content of ['not base64!', 'aGk', 'aGk=a', 'é===']) {
      expect(await refuse({ path: 'kept', content, encoding: 'base64' })).toMatch(/base64|content/);
    }
    expect(await inside('cat kept')).toBe('old');
  });

  it("makes parent folders, replaces what is there, keeps its mode; the file is the user's", async () => {
    await write({ path: 'deep/er/still/file.sh', content: 'echo one' });
    await inside('chmod 751 deep/er/still/file.sh');
    await write({ path: 'deep/er/still/file.sh', content: 'echo two' });
    expect(await inside('stat -c %a:%U deep/er/still/file.sh; ./deep/er/still/file.sh; id -un')).toMatch(
      /^751:(\S+)\ntwo\n\1$/,
    );
  });

  it('writes through a symlink', async () => {
    await inside('echo old > target; ln -sf target link');
    await write({ path: 'link', content: 'new\n' });
    expect(await inside('cat target; readlink link')).toBe('new\ntarget');
  });

  it.each([
    '/etc/conformance',
    '/proc/conformance',
    '/workspace',
    '/tmp',
    '/dev/null',
    '/etc/passwd/x',
    `/tmp/${'n'.repeat(300)}`,
  ])('400 write_failed: %.20s cannot be written, and nothing was', async (path) => {
    expectError(await put({ path, content: 'x' }), 400, 'write_failed');
    expect((await subject.api.exec(subject.sandbox.id, `ls -d "${path}/x" "${path}.x"`)).exit_code).not.toBe(0);
  });

  it('maximum file size 8 MiB: exactly that is taken, in either encoding; one byte more is 413 file_too_large', async () => {
    const most = Buffer.alloc(8 * mib, 'm');
    expect((await write({ path: 'most', content: most.toString('base64'), encoding: 'base64' })).bytes).toBe(8 * mib);
    expect((await write({ path: 'most', content: most.toString('utf8') })).bytes).toBe(8 * mib);
    expect(await inside('stat -c %s most; tr -d m < most | wc -c')).toBe(`${8 * mib}\n0`);
    const more = Buffer.alloc(8 * mib + 1, 'n');
    expectError(
      await put({ path: 'most', content: more.toString('base64'), encoding: 'base64' }),
      413,
      'file_too_large',
    );
    expectError(await put({ path: 'most', content: more.toString('utf8') }), 413, 'file_too_large');
    expect(await inside('head -c 1 most; rm most')).toBe('m');
  });

  it('the size counts bytes, not characters', async () => {
    expectError(await put({ path: 'wide', content: 'é'.repeat(4 * mib + 1) }), 413, 'file_too_large');
    expect((await write({ path: 'wide', content: 'é'.repeat(4 * mib) })).bytes).toBe(8 * mib);
    await inside('rm wide');
  });

  it('400 write_failed: full disk; nothing was written and the old file is kept', async () => {
    await write({ path: 'kept.txt', content: 'old' });
    const sizes = '4G 1G 256M 64M 16M 4M 1M 256K 64K 16K 4K';
    await inside(
      `n=0; for size in ${sizes}; do while fallocate -l $size fill$((n+=1)) 2>/dev/null; do :; done; done; sync`,
    );
    const content = 'x'.repeat(2 * mib);
    expectError(await put({ path: 'kept.txt', content }), 400, 'write_failed');
    expectError(await put({ path: 'new.txt', content }), 400, 'write_failed');
    expect(await inside('cat kept.txt; ls new.txt 2>/dev/null | wc -l; rm -f fill*')).toBe('old0');
    await write({ path: 'kept.txt', content });
  });

  it('several writes of one file at once leave one of them whole', async () => {
    const contents = Array.from({ length: 8 }, (_, at) => String(at).repeat(200_000));
    await Promise.all(contents.map((content) => write({ path: 'raced', content })));
    const [digits, size] = (await inside('fold -w1 raced | sort -u | wc -l; stat -c %s raced')).split('\n');
    expect([digits, size]).toEqual(['1', '200000']);
  });

  it('404 for a sandbox that does not exist', async () => {
    expectError(await subject.api.put('/sandboxes/sbx_unknown/files', { path: 'a', content: 'a' }), 404, 'not_found');
  });
});
