import { expect, test } from 'vitest';
import { type ErrorEntry, errorTable, errorTypes, type RetryCategory } from './error-table.ts';

test('every error type has the retry category of the specification', () => {
  const typesIn = (retry: RetryCategory) => errorTypes.filter((type) => errorTable[type].retry === retry);
  expect(typesIn('after_freeing')).toEqual(['insufficient_credits', 'quota_exceeded']);
  expect(typesIn('with_backoff')).toEqual([
    'rate_limit_exceeded',
    'execution_failed',
    'provisioning_failed',
    'capacity_unavailable',
    'internal_error',
  ]);
  // 400, 401, 403, 404 and 409; the specification names no category for 413, and the same request would fail again.
  expect(typesIn('never')).toEqual([
    'invalid_request',
    'unauthorized',
    'invalid_api_key',
    'account_suspended',
    'not_found',
    'sandbox_not_running',
    'execution_not_running',
    'write_failed',
    'read_failed',
    'list_failed',
    'file_too_large',
    'request_error',
  ]);
});

test('lists exactly the error types and statuses of the specification, and one for live commands', () => {
  expect(Object.fromEntries(errorTypes.map((type) => [type, errorTable[type].statuses[0]]))).toEqual({
    invalid_request: 400,
    unauthorized: 401,
    invalid_api_key: 401,
    account_suspended: 403,
    insufficient_credits: 402,
    not_found: 404,
    sandbox_not_running: 409,
    execution_not_running: 409,
    rate_limit_exceeded: 429,
    quota_exceeded: 429,
    execution_failed: 502,
    provisioning_failed: 503,
    capacity_unavailable: 503,
    internal_error: 500,
    write_failed: 400,
    read_failed: 400,
    list_failed: 400,
    file_too_large: 413,
    request_error: 400,
  });
});

test('a request that arrived too slowly can be sent again, as cause, category, hint and message say', () => {
  const { statuses, cause, retry, retryByStatus, hint, examples }: ErrorEntry = errorTable.request_error;
  expect(cause).toContain('or it arrived too slowly (408).');
  expect(hint).toContain('After a 408, send it again.');
  expect(examples[statuses.indexOf(408)]).toContain('Send it again.');
  const categories = statuses.map((status) => [status, retryByStatus?.[status] ?? retry]);
  expect(categories).toEqual([
    [400, 'never'],
    [413, 'never'],
    [414, 'never'],
    [431, 'never'],
    [408, 'with_backoff'],
  ]);
});
