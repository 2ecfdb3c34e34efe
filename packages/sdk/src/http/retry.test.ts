import { errorTable as contractTable, errorTypes } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../api/api-error.ts';
import { errorTable } from '../api/error-classes.ts';
import { ConnectionError, UnexpectedResponseError } from '../errors.ts';
import { decideRetry } from './retry.ts';

const state = { repeatable: true, retries: 0, maxRetries: 3, retryDelayMs: 100, remainingMs: 60_000, random: 0 };
const errorWith = (type: string, retryAfterMs?: number) =>
  new ApiError({ type, status: 500, requestId: 'req_1', hint: '', message: 'm', retryAfterMs });

describe('which requests are repeated', () => {
  it.each(errorTypes)('%s: as the retry categories of the specification say', (type) => {
    const isRetried = contractTable[type].retry === 'with_backoff';
    expect(decideRetry(errorWith(type), state) !== undefined).toBe(isRetried);
    expect(errorTable[type].retry).toBe(contractTable[type].retry);
  });

  it('a request that must not be repeated is repeated only after errors that mean that nothing happened', () => {
    const repeated = errorTypes.filter((type) => decideRetry(errorWith(type), { ...state, repeatable: false }));
    expect(repeated).toEqual(['rate_limit_exceeded', 'provisioning_failed', 'capacity_unavailable']);
    const lost = new ConnectionError('lost', { mayHaveHappened: true });
    const refused = new ConnectionError('refused', { mayHaveHappened: false });
    expect(decideRetry(lost, { ...state, repeatable: false })).toBeUndefined();
    expect(decideRetry(refused, { ...state, repeatable: false })).toBeDefined();
    expect(decideRetry(lost, state)).toBeDefined();
  });

  it('a request that arrived too slowly is repeated, although others of its type would fail again', () => {
    const errorOf = (status: number) =>
      new ApiError({ type: 'request_error', status, requestId: 'req_1', hint: '', message: 'm' });
    for (const repeatable of [true, false]) {
      const retried = contractTable.request_error.statuses.filter((status) =>
        decideRetry(errorOf(status), { ...state, repeatable }),
      );
      expect(retried).toEqual([408]);
    }
  });

  it('responses of proxies that could not reach the service are repeated, other strange responses are not', () => {
    const retried = [404, 500, 502, 503, 504].filter((status) =>
      decideRetry(new UnexpectedResponseError('m', status), state),
    );
    expect(retried).toEqual([502, 503, 504]);
    expect(decideRetry(new UnexpectedResponseError('m', 502), { ...state, repeatable: false })).toBeUndefined();
    expect(decideRetry(new TypeError('bug'), state)).toBeUndefined();
  });
});

describe('how long it waits', () => {
  it('pauses double, with jitter, up to a maximum', () => {
    const pauses = [0, 1, 2, 10].map(
      (retries) => decideRetry(errorWith('internal_error'), { ...state, retries, maxRetries: 20, random: 1 })?.pauseMs,
    );
    expect(pauses).toEqual([100, 200, 400, 15_000]);
    expect(decideRetry(errorWith('internal_error'), state)?.pauseMs).toBe(50);
  });

  it('honours Retry-After, and gives up if that is after the deadline', () => {
    const asked = errorWith('rate_limit_exceeded', 7_000);
    expect(decideRetry(asked, state)?.pauseMs).toBe(7_000);
    expect(decideRetry(asked, { ...state, remainingMs: 6_000 })).toBeUndefined();
  });

  it('gives up after the last retry, but waits for a rate limit as often as the deadline allows', () => {
    expect(decideRetry(errorWith('internal_error'), { ...state, retries: 3 })).toBeUndefined();
    expect(decideRetry(errorWith('rate_limit_exceeded', 10), { ...state, retries: 3 })).toMatchObject({
      counts: false,
    });
  });
});
