import type { PortList } from '@mayfly/contract';
import { queryOptions } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import { sandboxPath } from '../sandbox/queries.ts';

/** Programs open and close ports too. */
const portsEveryMs = 5_000;

/** The open previews of a running sandbox, oldest first. */
export function portsQuery(sandboxId: string) {
  return queryOptions({
    queryKey: ['ports', sandboxId],
    queryFn: ({ signal }) => request<PortList>(`${sandboxPath(sandboxId)}/ports`, { signal }),
    refetchInterval: portsEveryMs,
  });
}

/** Whether visitors have to trust the service's own root certificate, because the operator brought none. */
export const hasOwnRootQuery = queryOptions({
  queryKey: ['preview-root'],
  queryFn: async ({ signal }) => (await fetch('/preview-root.crt', { signal })).ok,
  staleTime: Number.POSITIVE_INFINITY,
});
