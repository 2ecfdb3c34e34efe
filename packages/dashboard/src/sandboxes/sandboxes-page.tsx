import type { Sandbox } from '@mayfly/contract';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { accountQuery, sandboxesQuery } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Page, Skeleton } from '../parts/page.tsx';
import { Segments } from '../parts/segments.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { useNow } from '../parts/use-now.ts';
import { type Filter, filters, includesDeleted, isShown, searchOf } from './filter.ts';
import { FirstSandbox } from './first-sandbox.tsx';
import { SandboxRow } from './sandbox-row.tsx';
import { SnippetTabs } from './snippet-tabs.tsx';

const labels: Readonly<Record<Filter, string>> = {
  current: 'Current',
  running: 'Running',
  failed: 'Failed',
  ended: 'Ended',
  all: 'All',
};

/** What an empty list says. */
const nothing: Readonly<Record<Exclude<Filter, 'all'>, string>> = {
  current: 'No sandbox at the moment.',
  running: 'No sandbox is running.',
  failed: 'No sandbox has failed. Good.',
  ended: 'No sandbox has ended yet.',
};

export function SandboxesPage() {
  const { status: filter = 'current' } = useSearch({ from: '/signed-in/sandboxes' });
  const navigate = useNavigate();
  const sandboxes = useInfiniteQuery(sandboxesQuery(includesDeleted(filter)));
  const shown = sandboxes.data?.filter((sandbox) => isShown(sandbox, filter));
  const isSlow = useDelayed(sandboxes.isPending);
  return (
    <Page title="Sandboxes" description="The virtual machines of this account, newest first." action={<Balance />}>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
        <Segments
          label="Which sandboxes are shown"
          value={filter}
          options={filters.map((value) => ({ value, label: labels[value] }))}
          onChoose={(chosen) => void navigate({ to: '/sandboxes', search: searchOf(chosen), replace: true })}
        />
        {shown !== undefined && shown.length > 0 && (
          <p role="status" className="text-sm text-soft tabular-nums">
            {countSandboxes(shown.length, sandboxes.hasNextPage)}
          </p>
        )}
      </div>
      {sandboxes.isPending && isSlow && <Skeleton />}
      {sandboxes.isError && shown === undefined && (
        <ErrorNotice
          error={sandboxes.error}
          action={<Button onClick={() => void sandboxes.refetch()}>Try again</Button>}
        />
      )}
      {shown !== undefined && shown.length > 0 && <SandboxTable sandboxes={shown} />}
      {shown?.length === 0 && !sandboxes.hasNextPage && !sandboxes.isPlaceholderData && <Empty filter={filter} />}
      {sandboxes.hasNextPage && (
        <div className="mt-5 flex justify-center">
          <Button isPending={sandboxes.isFetchingNextPage} onClick={() => void sandboxes.fetchNextPage()}>
            Show older ones
          </Button>
        </div>
      )}
    </Page>
  );
}

function countSandboxes(count: number, hasMore: boolean): string {
  return `${count}${hasMore ? '+' : ''} ${count === 1 ? 'sandbox' : 'sandboxes'}`;
}

function SandboxTable({ sandboxes }: { readonly sandboxes: readonly Sandbox[] }) {
  const nowMs = useNow();
  const { data: account } = useQuery(accountQuery);
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Sandbox</th>
            <th scope="col">Status</th>
            <th scope="col">Size</th>
            <th scope="col">Created</th>
            <th scope="col" className="w-66">
              Time left
            </th>
            <th scope="col" className="end">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {sandboxes.map((sandbox) => (
            <SandboxRow key={sandbox.id} sandbox={sandbox} prices={account?.pricing_usd_per_hour} nowMs={nowMs} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** An account that never had a sandbox is shown the way to its first; one that has none at the moment, only the commands. */
function Empty({ filter }: { readonly filter: Filter }) {
  const everything = useInfiniteQuery({ ...sandboxesQuery(true), enabled: filter === 'current' });
  if (filter === 'all' || (filter === 'current' && everything.data?.length === 0)) return <FirstSandbox />;
  if (filter === 'current' && everything.isPending) return null;
  return (
    <div className="animate-appear rounded-xl border border-line border-dashed px-6 py-10 md:px-10">
      <p className="text-base font-medium">{nothing[filter]}</p>
      {filter === 'current' && (
        <div className="mt-5 max-w-2xl">
          <p className="mb-3 text-soft">Create one from a terminal or a program; it appears here by itself.</p>
          <SnippetTabs />
        </div>
      )}
    </div>
  );
}

/** What is left to spend. */
function Balance() {
  const { data: account } = useQuery(accountQuery);
  if (!account) return null;
  return (
    <dl className="text-right">
      <dt className="text-[0.8rem] text-soft">Balance</dt>
      <dd className="text-lg font-semibold tabular-nums">
        {account.balance_usd < 0 ? '−' : ''}${Math.abs(account.balance_usd).toFixed(2)}
      </dd>
    </dl>
  );
}
