import { expect, test } from 'vitest';
import { errorTable, errorTypes } from './error-table.ts';

test('lists exactly the error types and statuses of the specification', () => {
  expect(Object.fromEntries(errorTypes.map((type) => [type, errorTable[type].statuses[0]]))).toEqual({
    invalid_request: 400,
    unauthorized: 401,
    invalid_api_key: 401,
    account_suspended: 403,
    insufficient_credits: 402,
    not_found: 404,
    sandbox_not_running: 409,
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
