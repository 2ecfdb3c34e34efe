import { type Sandbox, type SizeName, sizes } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { arrange, isPastTheEnd, needsAllPages } from './arrange.ts';
import { type ListSearch, orders } from './list-search.ts';

const nowMs = Date.parse('2026-01-02T12:00:00.000Z');
const minutesAgo = (minutes: number) => new Date(nowMs - minutes * 60_000).toISOString();
const prices = { small: 0.05, medium: 0.1, large: 0.2 };

interface Sample {
  readonly ageMinutes: number;
  readonly leftMinutes?: number;
  readonly name?: string;
  readonly size?: SizeName;
  readonly status?: Sandbox['status'];
}

function sandbox(id: string, sample: Sample): Sandbox {
  const { ageMinutes, leftMinutes = 60, name = null, size = 'small', status = 'running' } = sample;
  const { vcpu, memoryGb, diskGb } = sizes[size];
  return {
    object: 'sandbox',
    id: `sbx_${id}`,
    name,
    status,
    status_reason: null,
    size,
    resources: { vcpu, memory_gb: memoryGb, disk_gb: diskGb },
    snapshot_id: null,
    timeout_minutes: 60,
    created_at: minutesAgo(ageMinutes),
    ready_at: minutesAgo(ageMinutes),
    expires_at: minutesAgo(-leftMinutes),
    ended_at: status === 'running' ? null : minutesAgo(0),
    deleted_at: null,
  };
}

const all = [
  sandbox('new', { ageMinutes: 1, name: 'Build 10', leftMinutes: 90 }),
  sandbox('mid', { ageMinutes: 30, name: 'build 9', leftMinutes: 5, size: 'large' }),
  sandbox('bad', { ageMinutes: 90, status: 'failed' }),
  sandbox('old', { ageMinutes: 1500, name: '<b>nightly</b>', leftMinutes: 20 }),
];
const idsFor = (search: ListSearch) => arrange(all, search, { nowMs, prices }).map(({ id }) => id.slice(4));

test.each<[ListSearch, readonly string[]]>([
  [{}, ['new', 'mid', 'bad', 'old']],
  [{ status: 'running' }, ['new', 'mid', 'old']],
  [{ size: 'large' }, ['mid']],
  [{ age: 'under-1h' }, ['new', 'mid']],
  [{ age: 'over-1h' }, ['bad', 'old']],
  [{ age: 'over-24h', status: 'failed' }, []],
  [{ q: 'BUILD' }, ['new', 'mid']],
  [{ q: 'build 1' }, ['new']],
  [{ q: ' 9  build ' }, ['mid']],
  [{ q: 'sbx_ba' }, ['bad']],
  [{ q: '.*' }, []],
  [{ sort: 'oldest' }, ['old', 'bad', 'mid', 'new']],
  [{ sort: 'ending' }, ['mid', 'old', 'new', 'bad']],
  [{ sort: 'name' }, ['old', 'mid', 'new', 'bad']],
  [{ sort: 'cost' }, ['old', 'mid', 'bad', 'new']],
])('%j shows %j', (search, ids) => {
  expect(idsFor(search)).toEqual(ids);
});

test('no order loses a sandbox', () => {
  for (const order of orders) {
    const sort = order === 'newest' ? {} : { sort: order };
    expect([...idsFor(sort)].sort()).toEqual([...idsFor({})].sort());
  }
});

test('an age and its opposite share every sandbox between them', () => {
  expect(idsFor({ age: 'under-24h' }).length + idsFor({ age: 'over-24h' }).length).toBe(all.length);
});

test('every page is needed for an order in which the service does not list', () => {
  expect(needsAllPages({ q: 'x', size: 'small' })).toBe(false);
  expect(needsAllPages({ sort: 'oldest' })).toBe(true);
});

test('older pages hold nothing young', () => {
  expect(isPastTheEnd({ age: 'under-1h' }, all, nowMs)).toBe(true);
  expect(isPastTheEnd({ age: 'under-1h' }, all.slice(0, 2), nowMs)).toBe(false);
  expect(isPastTheEnd({ age: 'over-1h' }, all, nowMs)).toBe(false);
  expect(isPastTheEnd({}, all, nowMs)).toBe(false);
});
