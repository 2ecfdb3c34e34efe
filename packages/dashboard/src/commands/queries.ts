import type { Execution, ExecutionList, ExecutionSummary } from '@mayfly/contract';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import { sandboxPath } from '../sandbox/queries.ts';

/** While a command runs, or one could be started elsewhere, the list is read this often. */
const listEveryMs = 4_000;
const perPage = 30;

/** The path of an execution below the API's prefix. */
export function executionPath(id: string): string {
  return `/executions/${encodeURIComponent(id)}`;
}

/** The executions of a sandbox, newest first, page by page. `isLive` is whether there can be new ones. */
export function executionsQuery(sandboxId: string, isLive: boolean) {
  return infiniteQueryOptions({
    queryKey: ['executions', sandboxId],
    queryFn: ({ signal, pageParam }) => {
      const parameters = new URLSearchParams({ limit: `${perPage}` });
      if (pageParam !== null) parameters.set('starting_after', pageParam);
      return request<ExecutionList>(`${sandboxPath(sandboxId)}/executions?${parameters}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    select: ({ pages }): readonly ExecutionSummary[] => pages.flatMap(({ data }) => data),
    refetchInterval: isLive ? listEveryMs : false,
  });
}

/** One execution, for an address that names one which the list does not show. */
export function executionQuery(id: string) {
  return queryOptions({
    queryKey: ['execution', id],
    queryFn: ({ signal }) => request<Execution>(executionPath(id), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
