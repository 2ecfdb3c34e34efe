import type { Snapshot } from '@mayfly/contract';
import { useInfiniteQuery } from '@tanstack/react-query';
import { ChevronDown } from 'lucide-react';
import { useId } from 'react';
import { snapshotsQuery } from '../../snapshots/queries.ts';

/** The snapshots that sandboxes can begin from, newest first; empty until they are known. */
export function useReadySnapshots(): readonly Snapshot[] {
  const { data } = useInfiniteQuery(snapshotsQuery);
  return data?.filter(({ status }) => status === 'ready') ?? [];
}

interface SnapshotChoiceProps {
  readonly snapshots: readonly Snapshot[];
  readonly value: string | undefined;
  readonly onChoose: (id: string | undefined) => void;
}

export function SnapshotChoice({ snapshots, value, onChoose }: SnapshotChoiceProps) {
  const id = useId();
  const isUnknown = value !== undefined && snapshots.every((snapshot) => snapshot.id !== value);
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1.5 block text-sm font-medium">
        Begin from
      </label>
      <div className="relative">
        <select
          id={id}
          value={value ?? ''}
          onChange={(event) => onChoose(event.target.value === '' ? undefined : event.target.value)}
          aria-describedby={`${id}note`}
          className="input cursor-pointer appearance-none truncate pr-9"
        >
          <option value="">A fresh machine</option>
          {isUnknown && <option value={value}>{value}</option>}
          {snapshots.map((snapshot) => (
            <option key={snapshot.id} value={snapshot.id}>
              {labelOf(snapshot)}
            </option>
          ))}
        </select>
        <ChevronDown size={16} aria-hidden className="pointer-events-none absolute top-3 right-3 text-soft" />
      </div>
      <p id={`${id}note`} className="mt-1.5 text-[0.8rem] text-soft">
        A snapshot brings its memory, processes and files.
      </p>
    </div>
  );
}

function labelOf({ id, name, alias, size }: Snapshot): string {
  return `${name ?? alias ?? id} (${size})`;
}
