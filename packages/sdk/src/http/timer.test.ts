import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectionOf } from '../settings.ts';
import { orCleanUp } from './cleanup.ts';
import { timesOf } from './connection.ts';
import { pause } from './timer.ts';

describe('timers', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([Number.POSITIVE_INFINITY, 2 ** 31])('a pause of %d ms does not end at once', async (ms) => {
    let hasEnded = false;
    void pause(ms).then(() => (hasEnded = true));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(hasEnded).toBe(false);
  });

  it('a call that fails and has cleaned up leaves no timer', async () => {
    const failing = orCleanUp(Promise.reject(new Error('no')), undefined, async () => undefined);
    await expect(failing).rejects.toThrow('no');
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the times of a call', () => {
  const target = { apiKey: 'mf_x', baseUrl: 'http://a.example' };

  it('are its own, else the ones of the client, else defaults that are longer for slow calls', () => {
    const plain = connectionOf(target);
    const configured = connectionOf({ ...target, requestTimeoutMs: 5, deadlineMs: 6 });
    const slow = { slow: true, requestTimeoutMs: undefined, deadlineMs: undefined };
    expect(timesOf(plain, {})).toEqual({ requestTimeoutMs: 60_000, deadlineMs: 300_000 });
    expect(timesOf(plain, slow)).toEqual({ requestTimeoutMs: 290_000, deadlineMs: 600_000 });
    expect(timesOf(configured, slow)).toEqual({ requestTimeoutMs: 5, deadlineMs: 6 });
    expect(timesOf(configured, { ...slow, deadlineMs: 7 })).toEqual({ requestTimeoutMs: 5, deadlineMs: 7 });
  });
});
