import type { File } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { type ApiResponse, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });
const mib = 1_048_576;

function get(query: Record<string, string>): Promise<ApiResponse<File>> {
  return target.api.get<File>(`/sandboxes/${target.sandbox.id}/files?${new URLSearchParams(query).toString()}`);
}

async function read(path: string, more: Record<string, string> = {}): Promise<File> {
  return expectStatus(await get({ path, ...more }), 200);
}

function run(command: string): Promise<string> {
  return target.api.output(target.sandbox.id, command);
}

describe('GET /sandboxes/{id}/files', () => {
  it('a path to a file returns File with content, absolute path, size and encoding', async () => {
    await run("printf 'h\\303\\251llo\\n' > hello.txt");
    expect(await read('hello.txt')).toEqual({
      object: 'file',
      path: '/workspace/hello.txt',
      bytes: 7,
      encoding: 'utf8',
      content: 'héllo\n',
    });
    expect((await read('/workspace/hello.txt')).content).toBe('héllo\n');
  });

  it('encoding utf8 or base64 is honoured; anything else is 400 invalid_request', async () => {
    await run('printf text > text');
    expect(await read('text', { encoding: 'utf8' })).toMatchObject({ encoding: 'utf8', content: 'text', bytes: 4 });
    expect(await read('text', { encoding: 'base64' })).toMatchObject({
      encoding: 'base64',
      content: 'dGV4dA==',
      bytes: 4,
    });
    for (const encoding of ['latin1', '', 'BASE64']) {
      expect(expectError(await get({ path: 'text', encoding }), 400, 'invalid_request')).toContain('encoding');
    }
  });

  it('bytes that are not UTF-8 are returned as base64 by default; with encoding utf8 they are 400 read_failed', async () => {
    await run("printf 'a\\377b' > binary");
    expect(await read('binary')).toMatchObject({ encoding: 'base64', content: 'Yf9i', bytes: 3 });
    expectError(await get({ path: 'binary', encoding: 'utf8' }), 400, 'read_failed');
  });

  it('content is verbatim: NUL, carriage returns, a byte order mark', async () => {
    await run("printf '\\357\\273\\277a\\r\\n\\000b' > odd");
    expect((await read('odd')).content).toBe('\uFEFFa\r\n\0b');
    await run(': > empty');
    expect(await read('empty')).toMatchObject({ bytes: 0, encoding: 'utf8', content: '' });
  });

  it('follows a symlink; a name may contain any character', async () => {
    await run("ln -s hello-target link; printf here > hello-target; printf odd > $'a b\\n🦋%?#&.txt'");
    expect((await read('link')).content).toBe('here');
    expect((await read('a b\n🦋%?#&.txt')).content).toBe('odd');
  });

  it('404 not_found: no such file or sandbox', async () => {
    await run('ln -sf nowhere dangling');
    for (const path of ['missing', '/no/such/folder/file', 'dangling', '/etc/passwd/x']) {
      expectError(await get({ path }), 404, 'not_found');
    }
    expectError(await target.api.get('/sandboxes/sbx_unknown/files?path=a'), 404, 'not_found');
  });

  it('400 read_failed: the file exists but cannot be read', async () => {
    await run('printf secret > locked; chmod 000 locked; mkfifo pipe');
    for (const path of ['/etc/shadow', 'locked', 'pipe']) expectError(await get({ path }), 400, 'read_failed');
  });

  it('8 MiB can be read; one byte more is 413 file_too_large', async () => {
    await run(
      `head -c ${8 * mib} /dev/zero | tr '\\0' z > most; head -c ${8 * mib + 1} /dev/zero > more; truncate -s 3G vast`,
    );
    const most = await read('most');
    expect([most.bytes, most.content === 'z'.repeat(8 * mib)]).toEqual([8 * mib, true]);
    expect((await read('most', { encoding: 'base64' })).content.length).toBe(Math.ceil((8 * mib) / 3) * 4);
    for (const path of ['more', 'vast']) {
      for (const encoding of ['utf8', 'base64']) expectError(await get({ path, encoding }), 413, 'file_too_large');
    }
    await run('rm most more vast');
  });

  it('reading an endless file fails', async () => {
    const response = await get({ path: '/dev/zero' });
    expect(['read_failed', 'file_too_large']).toContain(response.type);
  });

  it('a relative path out of /workspace, an empty path, NUL: 400 invalid_request', async () => {
    for (const path of ['../etc/passwd', '', 'a\0b']) {
      expect(expectError(await get({ path }), 400, 'invalid_request')).toContain('path');
    }
  });

  it('commands and file operations see each other’s files', async () => {
    await target.api.put(`/sandboxes/${target.sandbox.id}/files`, { path: 'in.txt', content: '41' });
    await run('echo $(( $(cat in.txt) + 1 )) > out.txt');
    expect((await read('out.txt')).content).toBe('42\n');
  });
});
