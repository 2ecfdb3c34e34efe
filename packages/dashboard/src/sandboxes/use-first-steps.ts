import type { ExecutionList, Sandbox } from '@mayfly/contract';
import { queryOptions, skipToken, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { keysQuery, sandboxesQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { type FirstSteps, firstSteps } from './first-steps.ts';

const hiddenKey = 'mayfly-first-steps';
/** Commands are run elsewhere; so often it is looked whether there is one. */
const commandEveryMs = 3_000;

/** Returns the steps that lead to a first sandbox and its first command, while they are worth showing. `current` are the sandboxes that are not deleted. */
export function useFirstSteps(current: readonly Sandbox[] | undefined) {
  const [isHidden, setIsHidden] = useState(readHidden);
  const mayBeNew = !isHidden && current !== undefined && current.length <= 1;
  const everything = useInfiniteQuery({ ...sandboxesQuery(true), enabled: mayBeNew });
  const keys = useQuery({ ...keysQuery, enabled: mayBeNew });
  const only = everything.data?.length === 1 ? everything.data[0] : undefined;
  const hasCommand = useHasCommand(mayBeNew && only?.status === 'running' ? only.id : undefined);
  const steps: FirstSteps | undefined = mayBeNew
    ? firstSteps({ activeKeys: keys.data?.active, everything: everything.data, hasCommand })
    : undefined;
  const hide = () => {
    setIsHidden(true);
    rememberHidden();
  };
  return { steps, isPending: mayBeNew && everything.isPending, hide };
}

/** The sandbox whose terminal was opened in this tab: what is typed there is no command of the service's. */
const openedQuery = queryOptions<string>({
  queryKey: ['first-terminal'],
  queryFn: skipToken,
  staleTime: Infinity,
  gcTime: Infinity,
});

/** Returns what notes that the terminal of a sandbox was opened. */
export function useNoteTerminal(): (id: string) => void {
  const queryClient = useQueryClient();
  return (id) => queryClient.setQueryData(openedQuery.queryKey, id);
}

function useHasCommand(id: string | undefined): boolean {
  const { data: opened } = useQuery(openedQuery);
  const { data: hasRun = false } = useQuery({
    queryKey: ['first-command', id],
    queryFn: ({ signal }) => request<ExecutionList>(`/sandboxes/${id}/executions?limit=1`, { signal }),
    select: (list) => list.data.length > 0,
    enabled: id !== undefined,
    refetchInterval: ({ state }) => ((state.data?.data.length ?? 0) > 0 ? false : commandEveryMs),
  });
  return hasRun || (id !== undefined && opened === id);
}

/** Storage can be forbidden; then the steps come back with the next visit. */
function readHidden(): boolean {
  try {
    return localStorage.getItem(hiddenKey) === 'hidden';
  } catch {
    return false;
  }
}

function rememberHidden(): void {
  try {
    localStorage.setItem(hiddenKey, 'hidden');
  } catch {
    // As above.
  }
}
