import type { Stats } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { levels, longestStepMs, rates, type Sample, sampleOf, shownMs, summarize, withSample } from './samples.ts';

const startMs = Date.parse('2026-01-02T03:00:00.000Z');

function stats(seconds: number, receivedBytes = 0): Stats {
  return {
    object: 'stats',
    sandbox_id: 'sbx_1',
    measured_at: new Date(startMs + seconds * 1_000).toISOString(),
    cpu: { count: 2, used_ms: 0, percent: 50 },
    memory: { total_bytes: 100, used_bytes: 40 },
    disk: { total_bytes: 1_000, used_bytes: 10 },
    network: { received_bytes: receivedBytes, sent_bytes: 0 },
    processes: 3,
    uptime_ms: seconds * 1_000,
  };
}

const received = ({ receivedBytes }: Sample) => receivedBytes;
const ratesOf = (all: readonly Stats[]) => rates(all.map(sampleOf), received).map(({ value }) => value);

test('the processors are one percentage, however many there are', () => {
  expect(sampleOf(stats(0)).cpuPercent).toBe(25);
  expect(sampleOf({ ...stats(0), cpu: { count: 2, used_ms: 0, percent: 203 } }).cpuPercent).toBe(100);
});

test('a rate is what a counter gained per second', () => {
  expect(ratesOf([stats(0, 100), stats(2, 300), stats(3, 300)])).toEqual([null, 100, 0]);
});

test('after a rollback, when counters are lower, the rate is unknown once', () => {
  expect(ratesOf([stats(0, 500), stats(2, 700), stats(4, 50), stats(6, 70)])).toEqual([null, 100, null, 10]);
});

test('over a gap there is no rate', () => {
  const after = longestStepMs / 1_000 + 1;
  expect(ratesOf([stats(0, 0), stats(after, 100), stats(after + 2, 104)])).toEqual([null, null, 2]);
});

test('old samples are dropped, except for one at the edge', () => {
  let samples: readonly Sample[] = [];
  for (let seconds = 0; seconds <= 900; seconds += 2) samples = withSample(samples, sampleOf(stats(seconds)));
  expect(samples).toHaveLength(shownMs / 2_000 + 2);
  expect(withSample(samples, sampleOf(stats(10_000)))).toHaveLength(1);
});

test('a measurement that comes again, or without a time, is ignored', () => {
  const samples = withSample([], sampleOf(stats(4)));
  expect(withSample(samples, sampleOf(stats(4)))).toBe(samples);
  expect(withSample(samples, sampleOf({ ...stats(6), measured_at: 'soon' }))).toBe(samples);
});

test('a summary leaves out what is not known', () => {
  const samples = [stats(0), stats(2, 10), stats(4, 40)].map(sampleOf);
  expect(summarize(rates(samples, received))).toEqual({ latest: 15, least: 5, most: 15 });
  expect(summarize(levels(samples, ({ processes }) => processes))).toEqual({ latest: 3, least: 3, most: 3 });
  expect(summarize(rates(samples.slice(0, 1), received))).toBeUndefined();
});
