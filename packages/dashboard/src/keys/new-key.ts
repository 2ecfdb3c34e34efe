import type { CreatedApiKey } from '@mayfly/contract/dashboard';
import { type QueryClient, queryOptions, skipToken, useQuery } from '@tanstack/react-query';
import { keysQuery } from '../api/queries.ts';

type NewKey = Pick<CreatedApiKey, 'id' | 'key'>;

/** The key that was made last in this tab. It is in memory only, and forgotten with the session. */
const newKeyQuery = queryOptions<NewKey>({
  queryKey: ['new-key'],
  queryFn: skipToken,
  staleTime: Infinity,
  gcTime: Infinity,
});

export function rememberNewKey(queryClient: QueryClient, { id, key }: NewKey): void {
  queryClient.setQueryData(newKeyQuery.queryKey, { id, key });
}

/** Returns the key that was made in this tab, as long as it works. */
export function useNewKey(): string | undefined {
  const { data: made } = useQuery(newKeyQuery);
  const { data: keys } = useQuery(keysQuery);
  const isRevoked = keys?.data.some(({ id, revoked_at }) => id === made?.id && revoked_at !== null) ?? false;
  return isRevoked ? undefined : made?.key;
}
