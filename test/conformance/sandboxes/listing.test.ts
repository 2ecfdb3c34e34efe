import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import type { SandboxBody, SandboxListBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject();

const list = async (api: Api, query = ''): Promise<SandboxListBody> =>
  expectStatus(await api.get<SandboxListBody>(`/sandboxes${query}`), 200);

const idsOf = (page: SandboxListBody): string[] => page.data.map(({ id }) => id);

describe('GET /sandboxes', () => {
  let api: Api;
  /** In the order of their creation; the last is deleted. */
  const made: SandboxBody[] = [];
  beforeAll(async () => {
    api = await subject.quietAccount();
    for (const name of ['one', 'two', 'three', 'four']) made.push(await api.create({ name }));
    await api.delete(`/sandboxes/${made[3]?.id}`);
  });
  const own = (page: SandboxListBody): string[] => idsOf(page).filter((id) => made.some((one) => one.id === id));
  const newestFirst = (count: number): string[] =>
    made
      .slice(0, count)
      .map(({ id }) => id)
      .reverse();

  it('newest first', async () => {
    const page = await list(api, '?limit=100');
    expect(own(page)).toEqual(newestFirst(3));
    const times = page.data.map(({ created_at }) => Date.parse(created_at));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(new Set(times).size).toBe(times.length);
  });

  it('excludes deleted sandboxes unless include_deleted=true', async () => {
    expect(own(await list(api))).toEqual(newestFirst(3));
    expect(own(await list(api, '?include_deleted=false'))).toEqual(newestFirst(3));
    const all = await list(api, '?include_deleted=true');
    expect(own(all)).toEqual(newestFirst(4));
    expect(all.data.find(({ id }) => id === made[3]?.id)).toMatchObject({ status: 'deleted', name: 'four' });
  });

  it('a sandbox in the list is the sandbox that GET shows', async () => {
    const { data } = await list(api, '?limit=1');
    expect(await api.sandbox(data[0]?.id ?? '')).toEqual(data[0]);
  });

  it('has_more and next_cursor lead through all pages; the last has neither', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const after: string = cursor === null ? '' : `&starting_after=${encodeURIComponent(cursor)}`;
      const page = await list(api, `?limit=2&include_deleted=true${after}`);
      expect(page.data.length).toBeLessThanOrEqual(2);
      expect(page.has_more).toBe(page.next_cursor !== null);
      seen.push(...idsOf(page));
      cursor = page.next_cursor;
    } while (cursor !== null && seen.length < 1000);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => made.some((one) => one.id === id))).toEqual(newestFirst(4));
  });

  it('pages neither skip nor repeat while sandboxes are being created', async () => {
    const before = idsOf(await list(api, '?limit=100'));
    const seen: string[] = [];
    const created: Promise<SandboxBody>[] = [];
    let cursor: string | null = null;
    do {
      created.push(...(created.length < 3 ? [api.create({ name: 'meanwhile' })] : []));
      const after: string = cursor === null ? '' : `&starting_after=${encodeURIComponent(cursor)}`;
      const page = await list(api, `?limit=1${after}`);
      seen.push(...idsOf(page));
      cursor = page.next_cursor;
    } while (cursor !== null && seen.length < 1000);
    for (const { id } of await Promise.all(created)) await api.delete(`/sandboxes/${id}`);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => before.includes(id))).toEqual(before);
  });

  it('a cursor may be written with an offset instead of Z', async () => {
    const { next_cursor } = await list(api, '?limit=1');
    const page = await list(api, `?starting_after=${encodeURIComponent(next_cursor?.replace('Z', '+00:00') ?? '')}`);
    expect(own(page)).toEqual(newestFirst(2));
  });

  it('limit 1 and 100 are taken', async () => {
    expect((await list(api, '?limit=1')).data).toHaveLength(1);
    expect(own(await list(api, '?limit=100'))).toHaveLength(3);
  });

  it.each(['0', '101', '-1', '1.5', 'ten', '', '1e1', '99999999999999999999', '5&limit=6'])(
    'limit %s: 400 invalid_request',
    async (limit) => {
      expect(expectError(await api.get(`/sandboxes?limit=${limit}`), 400, 'invalid_request')).toContain('limit');
    },
  );

  it.each(['yesterday', '', '2026-13-01T00:00:00Z', '12'])('starting_after %s is no date-time: 400', async (cursor) => {
    expect(expectError(await api.get(`/sandboxes?starting_after=${cursor}`), 400, 'invalid_request')).toContain(
      'starting_after',
    );
  });

  it('include_deleted that is no boolean: 400, and every failing rule is named', async () => {
    const message = expectError(await api.get('/sandboxes?include_deleted=maybe&limit=0'), 400, 'invalid_request');
    expect(message.split(';')).toHaveLength(2);
    expect(message).toContain('include_deleted');
  });

  it('shows nothing of other accounts', async (context) => {
    const other = await subject.account(context, 'second');
    expect(own(await list(other, '?limit=100&include_deleted=true'))).toEqual([]);
  });
});
