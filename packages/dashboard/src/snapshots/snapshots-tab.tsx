import { formatBytes, type Sandbox, type Snapshot } from '@mayfly/contract';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Camera, History, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Ago } from '../parts/ago.tsx';
import { Button, buttonClass } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Skeleton } from '../parts/page.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { useSandbox } from '../sandbox/queries.ts';
import { RollBack } from '../sandbox/roll-back.tsx';
import { TakeSnapshot } from '../sandboxes/actions/take-snapshot.tsx';
import { DeleteSnapshot } from './delete-snapshot.tsx';
import { snapshotsQuery } from './queries.ts';
import { SnapshotStatus } from './snapshot-status.tsx';

type Chosen = { readonly what: 'take' } | { readonly what: 'roll-back' | 'delete'; readonly snapshot: Snapshot };

/** The snapshots that were taken of one sandbox, and the one that it was created from: it can be rolled back to either. */
export function SnapshotsTab() {
  const sandbox = useSandbox();
  const snapshots = useInfiniteQuery(snapshotsQuery);
  const [chosen, setChosen] = useState<Chosen>();
  const isSlow = useDelayed(snapshots.isPending);
  const close = () => setChosen(undefined);
  const isRunning = sandbox.status === 'running';
  const own = snapshots.data?.filter((snapshot) => isOf(snapshot, sandbox));
  return (
    <div className="space-y-5">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-base font-semibold">Snapshots of this sandbox</h2>
        {isRunning && (
          <Button look="primary" icon={<Camera size={16} aria-hidden />} onClick={() => setChosen({ what: 'take' })}>
            Take a snapshot
          </Button>
        )}
      </div>
      {snapshots.isPending && isSlow && <Skeleton rows={2} />}
      {snapshots.isError && !snapshots.data && (
        <ErrorNotice
          error={snapshots.error}
          action={<Button onClick={() => void snapshots.refetch()}>Try again</Button>}
        />
      )}
      {own?.length === 0 && <NoSnapshots isRunning={isRunning} />}
      {own !== undefined && own.length > 0 && (
        <div className="table-box">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Snapshot</th>
                <th scope="col">Status</th>
                <th scope="col">On disk</th>
                <th scope="col">Taken</th>
                <th scope="col">
                  <span className="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {own.map((snapshot) => (
                <SnapshotRow key={snapshot.id} snapshot={snapshot} sandbox={sandbox} onChoose={setChosen} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {snapshots.hasNextPage && (
        <div className="flex justify-center">
          <Button isPending={snapshots.isFetchingNextPage} onClick={() => void snapshots.fetchNextPage()}>
            Look for older ones
          </Button>
        </div>
      )}
      {chosen?.what === 'take' && <TakeSnapshot sandbox={sandbox} onClose={close} />}
      {chosen?.what === 'roll-back' && <RollBack sandbox={sandbox} snapshot={chosen.snapshot} onClose={close} />}
      {chosen?.what === 'delete' && <DeleteSnapshot snapshot={chosen.snapshot} onClose={close} />}
    </div>
  );
}

function isOf({ id, sandbox_id }: Snapshot, sandbox: Sandbox): boolean {
  return sandbox_id === sandbox.id || id === sandbox.snapshot_id;
}

interface SnapshotRowProps {
  readonly snapshot: Snapshot;
  readonly sandbox: Sandbox;
  readonly onChoose: (chosen: Chosen) => void;
}

function SnapshotRow({ snapshot, sandbox, onChoose }: SnapshotRowProps) {
  const { id, name, alias, status, bytes, created_at, sandbox_id } = snapshot;
  const isReady = status === 'ready';
  return (
    <tr>
      <th scope="row">
        <span className="flex flex-wrap items-center gap-x-2">
          <span className="max-w-80 truncate" title={name ?? undefined}>
            {name ?? <span className="font-normal text-soft">No name</span>}
          </span>
          {alias !== null && (
            <code className="max-w-full truncate rounded-sm bg-code px-1.5 font-mono text-[0.78rem] font-normal">
              {alias}
            </code>
          )}
          {sandbox_id !== sandbox.id && (
            <span className="text-[0.8rem] font-normal text-soft">this sandbox was created from it</span>
          )}
        </span>
        <span className="-my-1 flex items-center gap-1 text-[0.8rem] font-normal text-soft">
          <code className="truncate font-mono">{id}</code>
          <CopyButton text={id} what="the id" isSmall />
        </span>
      </th>
      <td className="corner">
        <SnapshotStatus status={status} />
      </td>
      <td data-label="On disk" className="number">
        {isReady ? formatBytes(bytes) : '–'}
      </td>
      <td data-label="Taken" className="number">
        <Ago at={created_at} />
      </td>
      <td className="max-md:col-span-2 md:text-right">
        <span className="inline-flex flex-wrap gap-2 md:-my-1.5 md:flex-nowrap">
          {isReady && sandbox.status === 'running' && (
            <Button icon={<History size={15} aria-hidden />} onClick={() => onChoose({ what: 'roll-back', snapshot })}>
              Roll back<span className="sr-only"> to {name ?? id}</span>
            </Button>
          )}
          {isReady && (
            <Link to="/sandboxes" search={{ create: true, from: id }} className={buttonClass('plain')}>
              Create from it<span className="sr-only">: {name ?? id}</span>
            </Link>
          )}
          <Button
            look="quiet"
            className="!px-2.5 hover:!text-red"
            aria-label={`Delete ${name ?? id}`}
            title="Delete"
            onClick={() => onChoose({ what: 'delete', snapshot })}
          >
            <Trash2 size={16} aria-hidden />
          </Button>
        </span>
      </td>
    </tr>
  );
}

function NoSnapshots({ isRunning }: { readonly isRunning: boolean }) {
  return (
    <div className="animate-appear rounded-xl border border-line border-dashed px-6 py-12 text-center">
      <Camera size={28} aria-hidden className="mx-auto mb-3 text-accent" />
      <p className="text-base font-medium">No snapshot of this sandbox</p>
      <p className="mx-auto mt-1 max-w-md text-soft">
        {isRunning
          ? 'A snapshot keeps memory and disk of one moment. Roll back to it, or create any number of sandboxes from it.'
          : 'Its machine has ended, so none can be taken any more.'}
      </p>
    </div>
  );
}
