import type { QueryClient } from '@tanstack/react-query';
import { accountQuery } from '../../api/queries.ts';

/** Reads again what a changed sandbox is shown by: the lists, its own page and the balance. */
export async function refreshSandboxes(queryClient: QueryClient): Promise<void> {
  const kinds = new Set(['sandboxes', 'sandbox', accountQuery.queryKey[0]]);
  await queryClient.invalidateQueries({ predicate: ({ queryKey: [kind] }) => kinds.has(String(kind)) });
}
