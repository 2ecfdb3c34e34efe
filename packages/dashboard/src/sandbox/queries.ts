import type { Sandbox } from '@mayfly/contract';
import { queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';

/** Until changes are pushed, the sandbox is read this often while the page is visible. */
const sandboxEveryMs = 4_000;

/** One sandbox, also one that has ended. */
export function sandboxQuery(id: string) {
  return queryOptions({
    queryKey: ['sandbox', id],
    queryFn: ({ signal }) => request<Sandbox>(`/sandboxes/${id}`, { signal }),
    refetchInterval: sandboxEveryMs,
  });
}
