import { describe, expect, it } from 'vitest';
import { type Answer, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { DirectoryBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({ sandbox: true });

const get = (query: string): Promise<Answer<DirectoryBody>> =>
  subject.api.get<DirectoryBody>(`/sandboxes/${subject.sandbox.id}/files${query}`);
const list = async (query: string): Promise<DirectoryBody> => expectStatus(await get(query), 200);
const remove = (query: string): Promise<Answer<unknown>> =>
  subject.api.delete(`/sandboxes/${subject.sandbox.id}/files${query}`);
const inside = (command: string): Promise<string> => subject.api.output(subject.sandbox.id, command);

describe('GET /sandboxes/{id}/files: a directory listing', () => {
  it('no path lists /workspace; so does list=true without a path', async () => {
    await inside('touch listed');
    for (const query of ['', '?list=true']) {
      const { path, entries } = await list(query);
      expect(path).toBe('/workspace');
      expect(entries).toContainEqual({ name: 'listed', type: 'file', size_bytes: 0 });
    }
  });

  it('entries have name, type (file, dir, symlink) and size_bytes, sorted by name', async () => {
    await inside(
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

  it('a path at a directory is listed without list=true as well', async () => {
    await inside('mkdir -p empty');
    expect(await list('?path=empty')).toEqual({ object: 'list', path: '/workspace/empty', entries: [] });
  });

  it('400 list_failed: list=true on a file, or a directory that cannot be listed', async () => {
    await inside('touch plain; mkdir -p closed; chmod 000 closed');
    for (const path of ['plain', 'closed', '/root']) {
      expectError(await get(`?list=true&path=${encodeURIComponent(path)}`), 400, 'list_failed');
    }
  });

  it('a missing path gives 404 not_found instead', async () => {
    expectError(await get('?list=true&path=missing'), 404, 'not_found');
  });

  it('list that is no boolean: 400 invalid_request', async () => {
    expect(expectError(await get('?list=perhaps'), 400, 'invalid_request')).toContain('list');
  });
});

describe('DELETE /sandboxes/{id}/files', () => {
  it('200 for a file; it is gone', async () => {
    await inside('touch file');
    const gone = { object: 'file', sandbox_id: subject.sandbox.id, path: '/workspace/file', deleted: true };
    expect(expectStatus(await remove('?path=file'), 200)).toEqual(gone);
    expect(await inside('ls file 2>/dev/null | wc -l')).toBe('0');
    expectError(await remove('?path=file'), 404, 'not_found');
  });

  it('recursive is required in order to delete a directory', async () => {
    await inside('mkdir -p tree/branch && touch tree/branch/leaf');
    for (const query of ['?path=tree', '?path=tree&recursive=false']) {
      expectError(await remove(query), 400, 'invalid_request');
    }
    expect(await inside('ls tree/branch')).toBe('leaf');
    expectStatus(await remove('?path=tree&recursive=true'), 200);
    expect(await inside('ls -d tree 2>/dev/null | wc -l')).toBe('0');
  });

  it('a symlink is removed itself, not what it points to', async () => {
    await inside('mkdir -p pointed && touch pointed/kept && ln -s pointed pointer');
    expectStatus(await remove('?path=pointer'), 200);
    expect(await inside('ls pointed')).toBe('kept');
  });

  it('path is required; / and /workspace itself, one that climbs out, NUL: 400', async () => {
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
    expect(await inside('pwd')).toBe('/workspace');
  });

  it('404 for a path that is not there, and for a sandbox that is not', async () => {
    expectError(await remove('?path=never/was'), 404, 'not_found');
    expectError(await subject.api.delete('/sandboxes/sbx_unknown/files?path=a'), 404, 'not_found');
  });

  it('what the user may not delete stays', async () => {
    expectError(await remove('?path=/etc/passwd'), 400, 'write_failed');
    expectError(await remove('?path=/etc&recursive=true'), 400, 'write_failed');
    expect(await inside('grep -c root: /etc/passwd')).toBe('1');
  });
});
