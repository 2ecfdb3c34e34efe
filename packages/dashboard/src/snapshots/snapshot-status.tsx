import type { SnapshotStatus as Status } from '@mayfly/contract';

const looks: Readonly<Record<Status, { readonly label: string; readonly colour: string }>> = {
  creating: { label: 'Saving', colour: 'text-blue' },
  ready: { label: 'Ready', colour: 'text-green' },
  failed: { label: 'Failed', colour: 'text-red' },
};

/** The status in a word, with a dot in its colour that breathes while the snapshot is being taken. */
export function SnapshotStatus({ status }: { readonly status: Status }) {
  const { label, colour } = looks[status];
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-full bg-current/11 px-2.5 py-0.5 text-[0.8rem] font-medium ${colour}`}
    >
      <span
        aria-hidden
        className={`size-1.5 rounded-full bg-current ${status === 'creating' ? 'animate-breathe' : ''}`}
      />
      {label}
    </span>
  );
}
