import type { AccountLimitsInUse, UsageDays } from '@mayfly/contract/dashboard';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import type { Period } from './period.ts';

const usageEveryMs = 30_000;
const limitsEveryMs = 10_000;

export function usageQuery(days: Period) {
  return queryOptions({
    queryKey: ['usage', days],
    queryFn: ({ signal }) => request<UsageDays>(`/usage/days?days=${days}`, { signal }),
    refetchInterval: usageEveryMs,
    placeholderData: keepPreviousData,
  });
}

export const limitsQuery = queryOptions({
  queryKey: ['limits'],
  queryFn: ({ signal }) => request<AccountLimitsInUse>('/limits', { signal }),
  refetchInterval: limitsEveryMs,
});
