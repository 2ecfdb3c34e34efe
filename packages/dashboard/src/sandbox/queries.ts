import type { Sandbox } from '@mayfly/contract';
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { request } from '../api/request.ts';

/** The path of a sandbox below the API's prefix. */
export function sandboxPath(id: string): string {
  return `/sandboxes/${encodeURIComponent(id)}`;
}

/** One sandbox, also one that has ended. Changes are pushed into it, see api/changes.ts. */
export function sandboxQuery(id: string) {
  return queryOptions({
    queryKey: ['sandbox', id],
    queryFn: ({ signal }) => request<Sandbox>(sandboxPath(id), { signal }),
  });
}

/** The sandbox of the page, for its tabs, which are shown once it is known. */
export function useSandbox(): Sandbox {
  const { id } = useParams({ from: '/signed-in/sandboxes/$id' });
  return useSuspenseQuery(sandboxQuery(id)).data;
}
