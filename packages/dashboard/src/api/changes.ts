import type { Sandbox, SandboxList } from '@mayfly/contract';
import { type InfiniteData, type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useIsVisible } from '../parts/use-is-visible.ts';
import { applyChanges, newerOf } from './apply-change.ts';
import type { StreamEvent } from './event-parser.ts';
import { readEvents } from './event-stream.ts';
import { accountQuery } from './queries.ts';

/** Everything that the stream keeps up to date. */
const followed = ['sandboxes', 'sandbox', 'snapshots'] as const;

/** Keeps what is shown of the account's sandboxes and snapshots up to date while the page is visible. */
export function useAccountChanges(): void {
  const queryClient = useQueryClient();
  const isVisible = useIsVisible();
  useEffect(() => {
    if (!isVisible) return;
    const reading = new AbortController();
    const batch = new Batch((sandboxes) => showChanges(queryClient, sandboxes));
    readEvents('/changes', {
      signal: reading.signal,
      // What happened before is not told.
      onOpen: () => refresh(queryClient),
      onEvent: (event) => {
        if (event.type === 'sandbox') batch.add(event.data as Sandbox);
        else applyOther(queryClient, event);
        return undefined;
      },
      // One that is refused, because too many pages are open or the session has ended, is answered by the lists themselves.
    }).catch(() => refresh(queryClient));
    return () => {
      reading.abort();
      batch.clear();
    };
  }, [isVisible, queryClient]);
}

function applyOther(queryClient: QueryClient, { type }: StreamEvent): void {
  if (type === 'reset') refresh(queryClient);
  if (type === 'snapshots') void queryClient.invalidateQueries({ queryKey: ['snapshots'] });
}

function refresh(queryClient: QueryClient): void {
  for (const key of followed) void queryClient.invalidateQueries({ queryKey: [key] });
  void queryClient.invalidateQueries({ queryKey: accountQuery.queryKey });
}

/** Changes that arrive together are shown together. */
class Batch {
  readonly #show: (sandboxes: readonly Sandbox[]) => void;
  readonly #waiting = new Map<string, Sandbox>();
  #frame = 0;

  constructor(show: (sandboxes: readonly Sandbox[]) => void) {
    this.#show = show;
  }

  add(sandbox: Sandbox): void {
    this.#waiting.set(sandbox.id, sandbox);
    if (this.#waiting.size > 1) return;
    this.#frame = requestAnimationFrame(() => {
      const sandboxes = [...this.#waiting.values()];
      this.#waiting.clear();
      this.#show(sandboxes);
    });
  }

  clear(): void {
    cancelAnimationFrame(this.#frame);
    this.#waiting.clear();
  }
}

function showChanges(queryClient: QueryClient, sandboxes: readonly Sandbox[]): void {
  for (const sandbox of sandboxes) {
    queryClient.setQueryData<Sandbox>(['sandbox', sandbox.id], (known) => known && newerOf(known, sandbox));
  }
  for (const { queryKey } of queryClient.getQueryCache().findAll({ queryKey: ['sandboxes'] })) {
    const { includeDeleted } = queryKey[1] as { readonly includeDeleted: boolean };
    queryClient.setQueryData<InfiniteData<SandboxList, string | null>>(queryKey, (known) =>
      known ? { ...known, pages: [...applyChanges(known.pages, sandboxes, { includeDeleted })] } : known,
    );
  }
  // Its cost has been booked.
  if (sandboxes.some(({ ended_at }) => ended_at !== null)) {
    void queryClient.invalidateQueries({ queryKey: accountQuery.queryKey });
  }
}
