import type { Directory } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { type ApiResponse, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });

function get(query: string): Promise<ApiResponse<Directory>> {
  return target.api.get<Directory>(`/sandboxes/${target.sandbox.id}/files${query}`);
}

async function list(query: string): Promise<Directory> {
  return expectStatus(await get(query), 200);
}

function remove(query: string): Promise<ApiResponse<unknown>> {
  return target.api.delete(`/sandboxes/${target.sandbox.id}/files${query}`);
}

function run(command: string): Promise<string> {
  return target.api.output(target.sandbox.id, command);
}

describe('GET /sandboxes/{id}/files: a directory listing', () => {
  it('no path lists /workspace; so does list=true without a path', async () => {
    await run('touch listed');
    for (const query of ['', '?list=true']) {
      const { path, entries } = await list(query);
      expect(path).toBe('/workspace');
      expect(entries).toContainEqual({ name: 'listed', type: 'file', size_bytes: 0 });
    }
  });

  it('entries have name, type (file, dir, symlink) and size_bytes, sorted by name', async () => {
    await run(
      "mkdir -p kinds/sub && cd kinds && printf 12345 > b.txt && ln -s b.txt link && ln -s nowhere dangling && mkfifo pipe && touch .hidden $'new\\nline' é",
    );
    const { path, entries } = await list('?path=kinds&list=true');
    expect(path).toBe('/workspace/kinds');
    expect(entries.map(({ name, type }) => [name, type])).toEqual([
      ['.hidden', 'file'],
      ['b.txt', 'file'],
      ['dangling', 'symlink'],
      ['link', 'symlink'],
      ['new\nline', 'file'],
      ['pipe', 'file'],
      ['sub', 'dir'],
      ['é', 'file'],
    ]);
    expect(entries.find(({ name }) => name === 'b.txt')?.size_bytes).toBe(5);
    expect(entries.find(({ name }) => name === 'pipe')?.size_bytes).toBeNull();
  });

  it('a path to a directory is listed even without list=true', async () => {
    await run('mkdir -p empty');
    expect(await list('?path=empty')).toEqual({ object: 'list', path: '/workspace/empty', entries: [] });
  });

  it('400 list_failed: list=true on a file, or a directory that cannot be listed', async () => {
    await run('touch plain; mkdir -p closed; chmod 000 closed');
    for (const path of ['plain', 'closed', '/root']) {
      expectError(await get(`?list=true&path=${encodeURIComponent(path)}`), 400, 'list_failed');
    }
  });

  it('a missing path, or one below a file, gives 404 not_found instead', async () => {
    await run('touch plain; ln -sfn plain link-to-file');
    for (const path of ['missing', 'plain/below', 'plain/below/deeper', 'link-to-file/below']) {
      expectError(await get(`?list=true&path=${encodeURIComponent(path)}`), 404, 'not_found');
    }
  });

  it('list that is not a boolean: 400 invalid_request', async () => {
    expect(expectError(await get('?list=perhaps'), 400, 'invalid_request')).toContain('list');
  });
});

describe('DELETE /sandboxes/{id}/files', () => {
  it('200 for a file; the file is gone', async () => {
    await run('touch file');
    const deleted = { object: 'file', sandbox_id: target.sandbox.id, path: '/workspace/file', deleted: true };
    expect(expectStatus(await remove('?path=file'), 200)).toEqual(deleted);
    expect(await run('ls file 2>/dev/null | wc -l')).toBe('0');
    expectError(await remove('?path=file'), 404, 'not_found');
  });

  it('recursive is required in order to delete a directory', async () => {
    await run('mkdir -p tree/branch && touch tree/branch/leaf');
    for (const query of ['?path=tree', '?path=tree&recursive=false']) {
      expectError(await remove(query), 400, 'invalid_request');
    }
    expect(await run('ls tree/branch')).toBe('leaf');
    expectStatus(await remove('?path=tree&recursive=true'), 200);
    expect(await run('ls -d tree 2>/dev/null | wc -l')).toBe('0');
  });

  it('a symlink is deleted, not its target', async () => {
    await run('mkdir -p pointed && touch pointed/kept && ln -s pointed pointer');
    expectStatus(await remove('?path=pointer'), 200);
    expect(await run('ls pointed')).toBe('kept');
  });

  it('no path, / and /workspace themselves, a path out of /workspace, NUL: 400 invalid_request', async () => {
    for (const query of [
      '',
      '?path=',
      '?path=/&recursive=true',
      '?path=/workspace&recursive=true',
      '?path=.&recursive=true',
    ]) {
      expectError(await remove(query), 400, 'invalid_request');
    }
    for (const query of ['?path=../tmp/x', '?path=a%00b', '?path=file&recursive=perhaps']) {
      expectError(await remove(query), 400, 'invalid_request');
    }
    expect(await run('pwd')).toBe('/workspace');
  });

  it('404 for a path or a sandbox that does not exist', async () => {
    expectError(await remove('?path=never/was'), 404, 'not_found');
    expectError(await target.api.delete('/sandboxes/sbx_unknown/files?path=a'), 404, 'not_found');
  });

  it('400 write_failed: the user may not delete it; it stays', async () => {
    expectError(await remove('?path=/etc/passwd'), 400, 'write_failed');
    expectError(await remove('?path=/etc&recursive=true'), 400, 'write_failed');
    expect(await run('grep -c root: /etc/passwd')).toBe('1');
  });
});
