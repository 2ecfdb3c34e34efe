import type { Account, Sandbox } from '@mayfly/contract';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { type ReactNode, useCallback, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { accountQuery, sandboxesQuery } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Page, Skeleton } from '../parts/page.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { useNow } from '../parts/use-now.ts';
import { DeleteSandboxes } from './actions/delete-sandboxes.tsx';
import { ExtendSandbox, ExtendSandboxes } from './actions/extend-sandbox.tsx';
import { ForkSandbox } from './actions/fork-sandbox.tsx';
import { countOf } from './actions/names.ts';
import { TakeSnapshot } from './actions/take-snapshot.tsx';
import { arrange, isPastTheEnd, needsAllPages } from './arrange.ts';
import { CreateSandbox } from './create/create-sandbox.tsx';
import { EmptyList } from './empty-list.tsx';
import { includesDeleted } from './filter.ts';
import { FirstSandbox } from './first-sandbox.tsx';
import { type ListSearch, withChange } from './list-search.ts';
import { ListToolbar } from './list-toolbar.tsx';
import type { SandboxAction } from './row-menu.tsx';
import { SandboxTable } from './sandbox-table.tsx';
import { emptySelection, isSelectable, type Selection, selectedAmong, toggleAll } from './selection.ts';
import { SelectionBar } from './selection-bar.tsx';
import { useFirstSteps } from './use-first-steps.ts';

/** Ages and costs decide what is shown and where; that need not follow every second. */
const arrangedEveryMs = 15_000;

/** The dialog that is open for a sandbox, or for several. */
type OpenDialog =
  | { readonly action: SandboxAction; readonly sandbox: Sandbox }
  | { readonly action: 'delete-all' | 'extend-all'; readonly sandboxes: readonly Sandbox[] };

export function SandboxesPage() {
  const search = useSearch({ from: '/signed-in/sandboxes' });
  const navigate = useNavigate({ from: '/sandboxes' });
  const [typed, setTyped] = useState(search.q ?? '');
  const wanted = useDeferredValue(typed);
  const { status = 'current' } = search;
  const sandboxes = useInfiniteQuery(sandboxesQuery(includesDeleted(status)));
  const [selection, setSelection] = useState<Selection>(emptySelection);
  const [dialog, setDialog] = useState<OpenDialog>();
  const [isNearEnd, setIsNearEnd] = useState(false);
  const isSlow = useDelayed(sandboxes.isPending);

  const shownSearch = useMemo(() => withChange(search, { q: wanted }), [search, wanted]);
  const { shown, isAllKnown } = useShown(sandboxes.data, shownSearch);
  const hasMore = sandboxes.hasNextPage && !isAllKnown;
  const isEmpty = shown?.length === 0;
  const readsOn = hasMore && (isNearEnd || isEmpty || needsAllPages(search));
  const { isFetching, isFetchNextPageError, fetchNextPage } = sandboxes;
  useEffect(() => {
    if (readsOn && !isFetching && !isFetchNextPageError) void fetchNextPage();
  }, [readsOn, isFetching, isFetchNextPageError, fetchNextPage]);

  const {
    steps,
    isPending: mayBeFirst,
    hide,
  } = useFirstSteps(status === 'current' && !hasMore ? sandboxes.data : undefined);

  const isNew = steps !== undefined && steps.sandbox === undefined;

  const selected = useMemo(() => selectedAmong(shown ?? [], selection), [shown, selection]);
  const act = useCallback((action: SandboxAction, sandbox: Sandbox) => setDialog({ action, sandbox }), []);
  const setCreating = (create: true | undefined) =>
    void navigate({
      search: (current) => withChange(current, { create, from: undefined }),
      replace: create === undefined,
      resetScroll: false,
    });
  const selectableIds = () => (shown ?? []).filter(isSelectable).map(({ id }) => id);
  return (
    <Page
      title="Sandboxes"
      description="The virtual machines of this account."
      action={
        <div className="flex items-center gap-4 md:gap-6">
          <Balance />
          <Button look="primary" icon={<Plus size={17} aria-hidden />} onClick={() => setCreating(true)}>
            <span>
              Create<span className="max-sm:sr-only"> sandbox</span>
            </span>
          </Button>
        </div>
      }
    >
      {steps && <FirstSandbox steps={steps} onCreate={() => setCreating(true)} onHide={hide} />}
      {!isNew && <ListToolbar search={search} typed={typed} onType={setTyped} />}
      {sandboxes.isPending && isSlow && <Skeleton />}
      {sandboxes.isError && shown === undefined && (
        <ErrorNotice
          error={sandboxes.error}
          action={<Button onClick={() => void sandboxes.refetch()}>Try again</Button>}
        />
      )}
      {shown !== undefined && shown.length > 0 && (
        <>
          <SandboxTable
            sandboxes={shown}
            hasMore={hasMore}
            selection={selection}
            onSelect={setSelection}
            onAction={act}
            onNearEnd={setIsNearEnd}
          />
          <p role="status" className="mt-3 text-sm text-soft tabular-nums">
            {describeCount(shown.length, sandboxes.data?.length ?? 0, hasMore)}
          </p>
        </>
      )}
      {isEmpty && hasMore && <Searching count={sandboxes.data?.length ?? 0} />}
      {isFetchNextPageError && (
        <div className="mt-4">
          <ErrorNotice
            error={sandboxes.error}
            action={<Button onClick={() => void fetchNextPage()}>Try again</Button>}
          />
        </div>
      )}
      {isEmpty && !hasMore && !sandboxes.isPlaceholderData && !isNew && !mayBeFirst && (
        <EmptyList
          search={shownSearch}
          onCreate={() => setCreating(true)}
          onClear={() => {
            setTyped('');
            void navigate({
              search: (current) => withChange(current, { q: undefined, size: undefined, age: undefined }),
            });
          }}
        />
      )}
      {selected.length > 0 && (
        <SelectionBar
          selected={selected}
          shownCount={selectableIds().length}
          onSelectAll={() => setSelection((before) => toggleAll(before, selectableIds()))}
          onClear={() => setSelection(emptySelection)}
          onExtend={() => setDialog({ action: 'extend-all', sandboxes: selected })}
          onDelete={() => setDialog({ action: 'delete-all', sandboxes: selected })}
        />
      )}
      {dialog && (
        <ActionDialog
          dialog={dialog}
          onClose={() => setDialog(undefined)}
          onDone={() => setSelection(emptySelection)}
        />
      )}
      {search.create && <CreateSandbox snapshotId={search.from} onClose={() => setCreating(undefined)} />}
    </Page>
  );
}

/** What a search shows of the sandboxes that are known, and whether no further one can belong to it. */
function useShown(sandboxes: readonly Sandbox[] | undefined, search: ListSearch) {
  const { data: account } = useQuery(accountQuery);
  const prices: Account['pricing_usd_per_hour'] | undefined = account?.pricing_usd_per_hour;
  const now = useNow();
  const nowMs = now - (now % arrangedEveryMs);
  return useMemo(
    () => ({
      shown: sandboxes && arrange(sandboxes, search, { nowMs, prices }),
      isAllKnown: sandboxes !== undefined && isPastTheEnd(search, sandboxes, nowMs),
    }),
    [sandboxes, search, nowMs, prices],
  );
}

function describeCount(shown: number, known: number, hasMore: boolean): string {
  if (hasMore) return `${countOf(shown)} so far`;
  return shown === known ? countOf(shown) : `${shown} of ${countOf(known)}`;
}

function Searching({ count }: { readonly count: number }): ReactNode {
  return (
    <p role="status" className="py-10 text-center text-soft tabular-nums">
      Searching older sandboxes … {count} so far
    </p>
  );
}

interface ActionDialogProps {
  readonly dialog: OpenDialog;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function ActionDialog({ dialog, onClose, onDone }: ActionDialogProps) {
  switch (dialog.action) {
    case 'delete':
      return <DeleteSandboxes sandboxes={[dialog.sandbox]} onClose={onClose} />;
    case 'extend':
      return <ExtendSandbox sandbox={dialog.sandbox} onClose={onClose} />;
    case 'fork':
      return <ForkSandbox sandbox={dialog.sandbox} onClose={onClose} />;
    case 'snapshot':
      return <TakeSnapshot sandbox={dialog.sandbox} onClose={onClose} />;
    case 'delete-all':
      return <DeleteSandboxes sandboxes={dialog.sandboxes} onClose={onClose} onDeleted={onDone} />;
    case 'extend-all':
      return <ExtendSandboxes sandboxes={dialog.sandboxes} onClose={onClose} onExtended={onDone} />;
  }
}

/** What is left to spend. */
function Balance() {
  const { data: account } = useQuery(accountQuery);
  if (!account) return null;
  return (
    <dl className="text-right max-sm:hidden">
      <dt className="text-[0.8rem] text-soft">Balance</dt>
      <dd className="text-lg leading-tight font-semibold tabular-nums">
        {account.balance_usd < 0 ? '−' : ''}${Math.abs(account.balance_usd).toFixed(2)}
      </dd>
    </dl>
  );
}
