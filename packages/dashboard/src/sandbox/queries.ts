import type { Sandbox } from '@mayfly/contract';
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { request } from '../api/request.ts';

/** Until changes are pushed, the sandbox is read this often while the page is visible. */
const sandboxEveryMs = 4_000;

/** The path of a sandbox below the API's prefix. */
export function sandboxPath(id: string): string {
  return `/sandboxes/${encodeURIComponent(id)}`;
}

/** One sandbox, also one that has ended. */
export function sandboxQuery(id: string) {
  return queryOptions({
    queryKey: ['sandbox', id],
    queryFn: ({ signal }) => request<Sandbox>(sandboxPath(id), { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'deleted' ? false : sandboxEveryMs),
  });
}

/** The sandbox of the page, for its tabs, which are shown once it is known. */
export function useSandbox(): Sandbox {
  const { id } = useParams({ from: '/signed-in/sandboxes/$id' });
  return useSuspenseQuery(sandboxQuery(id)).data;
}
