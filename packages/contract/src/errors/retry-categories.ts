import type { RetryCategory } from './error-table.ts';

/** What each category asks of a client. */
export const retryCategories: Readonly<Record<RetryCategory, string>> = {
  never: 'Repeating the same request fails again. Fix the caller.',
  after_freeing: 'Delete a sandbox or add credit first; then repeat the request.',
  with_backoff:
    'Repeat the request with exponential backoff and jitter, and wait at least for `Retry-After` where it is given.',
};
