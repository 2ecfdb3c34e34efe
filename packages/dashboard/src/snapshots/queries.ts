import { defaultLimits, type Snapshot, type SnapshotList } from '@mayfly/contract';
import { infiniteQueryOptions, type QueryClient } from '@tanstack/react-query';
import { listPage } from '../api/list-page.ts';

/** The snapshots of the account, newest first, page by page. The service cannot list the snapshots of one sandbox. */
export const snapshotsQuery = infiniteQueryOptions({
  queryKey: ['snapshots'],
  queryFn: ({ signal, pageParam }) =>
    listPage<SnapshotList>('/snapshots', { limit: defaultLimits.maxPageSize, cursor: pageParam, signal }),
  initialPageParam: null as string | null,
  getNextPageParam: ({ next_cursor }) => next_cursor,
  select: ({ pages }): readonly Snapshot[] => pages.flatMap(({ data }) => data),
});

/** Reads the snapshots again after one was taken or deleted. */
export function refreshSnapshots(queryClient: QueryClient): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: snapshotsQuery.queryKey });
}
