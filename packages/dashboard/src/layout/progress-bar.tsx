import { useIsFetching, useIsMutating } from '@tanstack/react-query';
import { useRouterState } from '@tanstack/react-router';
import { useDelayed } from '../parts/use-delayed.ts';

/** A line at the top while something takes longer than half a second: a page, what is first shown on it, or a change. */
export function ProgressBar() {
  const isLoading = useRouterState({ select: ({ isLoading }) => isLoading });
  const firstLoads = useIsFetching({ predicate: ({ state }) => state.data === undefined });
  const changes = useIsMutating();
  if (!useDelayed(isLoading || firstLoads > 0 || changes > 0)) return null;
  return (
    <div aria-hidden className="fixed inset-x-0 top-0 z-40 h-0.5 overflow-hidden">
      <div className="h-full w-1/3 animate-sweep rounded-full bg-accent motion-reduce:w-full" />
    </div>
  );
}
