import { formatBytes, type Snapshot } from '@mayfly/contract';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Camera } from 'lucide-react';
import { useState } from 'react';
import { Button, buttonClass } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Page, Skeleton } from '../parts/page.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { DeleteSnapshot } from './delete-snapshot.tsx';
import { snapshotsQuery } from './queries.ts';
import { SnapshotTable } from './snapshot-table.tsx';

export function SnapshotsPage() {
  const snapshots = useInfiniteQuery(snapshotsQuery);
  const [deleting, setDeleting] = useState<Snapshot>();
  const isSlow = useDelayed(snapshots.isPending);
  const shown = snapshots.data;
  return (
    <Page
      title="Snapshots"
      description="Memory and disk of sandboxes at one instant, from which new ones begin."
      action={shown !== undefined && shown.length > 0 && <Storage snapshots={shown} />}
    >
      {snapshots.isPending && isSlow && <Skeleton />}
      {snapshots.isError && (
        <div className="mb-4">
          <ErrorNotice
            error={snapshots.error}
            action={<Button onClick={() => void snapshots.refetch()}>Try again</Button>}
          />
        </div>
      )}
      {shown?.length === 0 && <NoSnapshots />}
      {shown !== undefined && shown.length > 0 && <SnapshotTable snapshots={shown} onDelete={setDeleting} />}
      {snapshots.hasNextPage && (
        <div className="mt-5 flex justify-center">
          <Button isPending={snapshots.isFetchingNextPage} onClick={() => void snapshots.fetchNextPage()}>
            Show older ones
          </Button>
        </div>
      )}
      {deleting && <DeleteSnapshot snapshot={deleting} onClose={() => setDeleting(undefined)} />}
    </Page>
  );
}

/** What they take on disk, which is billed. */
function Storage({ snapshots }: { readonly snapshots: readonly Snapshot[] }) {
  const bytes = snapshots.reduce((sum, snapshot) => sum + snapshot.bytes, 0);
  return (
    <dl className="text-right max-sm:hidden">
      <dt className="text-[0.8rem] text-soft">Stored</dt>
      <dd className="text-lg leading-tight font-semibold tabular-nums">{formatBytes(bytes)}</dd>
    </dl>
  );
}

const uses = [
  ['Skip the set-up', 'Install once, take a snapshot, and begin every sandbox where the installation ended.'],
  ['Go back', 'Take one before something risky, and roll the sandbox back to it if it goes wrong.'],
  ['Try several ways', 'Begin as many sandboxes as you like from the same running programs.'],
] as const;

function NoSnapshots() {
  return (
    <div className="animate-appear rounded-xl border border-line border-dashed px-6 py-10 md:px-10">
      <Camera size={30} aria-hidden className="mb-3 text-accent" />
      <p className="text-base font-medium">No snapshot yet</p>
      <p className="mt-1 max-w-2xl text-soft">
        A snapshot is the whole machine at one instant: its memory, its running programs and its files. Take one from
        the menu of a running sandbox, or on its page.
      </p>
      <dl className="mt-6 grid gap-x-8 gap-y-5 md:grid-cols-3">
        {uses.map(([use, how]) => (
          <div key={use}>
            <dt className="font-medium">{use}</dt>
            <dd className="mt-0.5 text-sm text-soft">{how}</dd>
          </div>
        ))}
      </dl>
      <div className="mt-7 flex flex-wrap gap-2">
        <Link to="/sandboxes" search={{ status: 'running' }} className={buttonClass('primary')}>
          Go to the running sandboxes
        </Link>
      </div>
    </div>
  );
}
