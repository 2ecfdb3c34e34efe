import { type Account, defaultLimits, type Sandbox, type SandboxList } from '@mayfly/contract';
import type { ApiKeyList, Session, SessionList } from '@mayfly/contract/dashboard';
import {
  infiniteQueryOptions,
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  queryOptions,
} from '@tanstack/react-query';
import { isSignedOut } from './failure.ts';
import { listPage } from './list-page.ts';
import { request } from './request.ts';

/** What the service answered, kept while pages need it. Calls `onSignedOut` when an answer says that the session has ended. */
export function createQueryClient(onSignedOut: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        // Whether there is a session is a question, not a failure.
        if (isSignedOut(error) && query.queryKey[0] !== sessionQuery.queryKey[0]) onSignedOut();
      },
    }),
    mutationCache: new MutationCache({
      onError: (error) => {
        if (isSignedOut(error)) onSignedOut();
      },
    }),
    // The notice about the connection tries again, for all of them at once.
    defaultOptions: {
      queries: { retry: false, staleTime: 5_000, networkMode: 'always' },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => request<Session>('/session', { signal }),
  staleTime: 60_000,
});

/** Whether there is a session as far as is known, which costs no request. */
export function hasSession(queryClient: QueryClient): boolean {
  const state = queryClient.getQueryState(sessionQuery.queryKey);
  return state?.data !== undefined && !state.isInvalidated;
}

/** Goes on in a new session. Nothing of an earlier one may be shown in it. */
export function enterSession(queryClient: QueryClient, session: Session): void {
  forgetAnswers(queryClient);
  queryClient.setQueryData(sessionQuery.queryKey, session);
}

/** Goes to a page that needs no session, and forgets what was shown in the one that has ended. */
export async function leaveSession(queryClient: QueryClient, navigate: () => Promise<void>): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey, refetchType: 'none' });
  await navigate();
  forgetAnswers(queryClient);
}

/** A query with a reader keeps it, so the session's own, which the sign-in page reads, is not removed. */
function forgetAnswers(queryClient: QueryClient): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
}

export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: ({ signal }) => request<Account>('/account', { signal }),
  staleTime: 60_000,
});

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: ({ signal }) => request<ApiKeyList>('/keys', { signal }),
});

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => request<SessionList>('/sessions', { signal }),
});

/** Sandboxes, newest first, page by page. Changes are pushed into it, see changes.ts. */
export function sandboxesQuery(includeDeleted: boolean) {
  return infiniteQueryOptions({
    queryKey: ['sandboxes', { includeDeleted }],
    queryFn: ({ signal, pageParam }) =>
      listPage<SandboxList>('/sandboxes', {
        limit: defaultLimits.maxPageSize,
        cursor: pageParam,
        ...(includeDeleted && { parameters: { include_deleted: 'true' } }),
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    select: ({ pages }): readonly Sandbox[] => pages.flatMap(({ data }) => data),
    placeholderData: keepPreviousData,
  });
}
