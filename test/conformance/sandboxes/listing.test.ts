import type { Sandbox, SandboxList } from '@mayfly/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget();

async function list(api: Api, query = ''): Promise<SandboxList> {
  return expectStatus(await api.get<SandboxList>(`/sandboxes${query}`), 200);
}

function idsOf(page: SandboxList): string[] {
  return page.data.map(({ id }) => id);
}

describe('GET /sandboxes', () => {
  let api: Api;
  /** In the order of creation; the last one is deleted. */
  const created: Sandbox[] = [];
  beforeAll(async () => {
    api = await target.isolatedAccount();
    for (const name of ['one', 'two', 'three', 'four']) created.push(await api.create({ name }));
    await api.delete(`/sandboxes/${created[3]?.id}`);
  });
  const own = (page: SandboxList): string[] => idsOf(page).filter((id) => created.some((sandbox) => sandbox.id === id));
  const newestFirst = (count: number): string[] =>
    created
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
    expect(all.data.find(({ id }) => id === created[3]?.id)).toMatchObject({ status: 'deleted', name: 'four' });
  });

  it('a sandbox in the list equals the sandbox from GET', async () => {
    const { data } = await list(api, '?limit=1');
    expect(await api.sandbox(data[0]?.id ?? '')).toEqual(data[0]);
  });

  it('has_more and next_cursor lead through all pages; the last page has neither', async () => {
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
    expect(seen.filter((id) => created.some((sandbox) => sandbox.id === id))).toEqual(newestFirst(4));
  });

  it('pages neither skip nor repeat sandboxes while others are being created', async () => {
    const before = idsOf(await list(api, '?limit=100'));
    const seen: string[] = [];
    const creating: Promise<Sandbox>[] = [];
    let cursor: string | null = null;
    do {
      creating.push(...(creating.length < 3 ? [api.create({ name: 'meanwhile' })] : []));
      const after: string = cursor === null ? '' : `&starting_after=${encodeURIComponent(cursor)}`;
      const page = await list(api, `?limit=1${after}`);
      seen.push(...idsOf(page));
      cursor = page.next_cursor;
    } while (cursor !== null && seen.length < 1000);
    for (const { id } of await Promise.all(creating)) await api.delete(`/sandboxes/${id}`);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.filter((id) => before.includes(id))).toEqual(before);
  });

  it('a cursor may have an offset instead of Z', async () => {
    const { next_cursor } = await list(api, '?limit=1');
    const page = await list(api, `?starting_after=${encodeURIComponent(next_cursor?.replace('Z', '+00:00') ?? '')}`);
    expect(own(page)).toEqual(newestFirst(2));
  });

  it('a cursor may be any time, also one at which nothing was created', async () => {
    const after = async (ms: number) =>
      own(await list(api, `?starting_after=${encodeURIComponent(new Date(ms).toISOString())}`));
    const times = created.slice(0, 3).map(({ created_at }) => Date.parse(created_at));
    const [first = 0, second = 0, third = 0] = times;
    expect(await after(second + 1)).toEqual(newestFirst(2));
    expect(await after(second - 1)).toEqual(newestFirst(1));
    expect(await after(first - 1)).toEqual([]);
    expect(await after(third + 86_400_000)).toEqual(newestFirst(3));
  });

  it('limit accepts 1 and 100', async () => {
    expect((await list(api, '?limit=1')).data).toHaveLength(1);
    expect(own(await list(api, '?limit=100'))).toHaveLength(3);
  });

  it.each(['0', '101', '-1', '1.5', 'ten', '', '1e1', '99999999999999999999', '5&limit=6'])(
    'limit %s: 400 invalid_request',
    async (limit) => {
      expect(expectError(await api.get(`/sandboxes?limit=${limit}`), 400, 'invalid_request')).toContain('limit');
    },
  );

  it.each(['yesterday', '', '2026-13-01T00:00:00Z', '12'])(
    'starting_after %s is not a date-time: 400',
    async (cursor) => {
      expect(expectError(await api.get(`/sandboxes?starting_after=${cursor}`), 400, 'invalid_request')).toContain(
        'starting_after',
      );
    },
  );

  it('include_deleted that is not a boolean: 400; the message lists every failing rule', async () => {
    const message = expectError(await api.get('/sandboxes?include_deleted=maybe&limit=0'), 400, 'invalid_request');
    expect(message.split(';')).toHaveLength(2);
    expect(message).toContain('include_deleted');
  });

  it('does not show sandboxes of other accounts', async (context) => {
    const other = await target.account(context, 'second');
    expect(own(await list(other, '?limit=100&include_deleted=true'))).toEqual([]);
  });
});
