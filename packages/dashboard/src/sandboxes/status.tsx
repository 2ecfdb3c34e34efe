import type { SandboxStatus } from '@mayfly/contract';

const looks: Readonly<Record<SandboxStatus, { readonly label: string; readonly colour: string }>> = {
  provisioning: { label: 'Starting', colour: 'text-blue' },
  running: { label: 'Running', colour: 'text-green' },
  deleting: { label: 'Ending', colour: 'text-amber' },
  deleted: { label: 'Ended', colour: 'text-soft' },
  failed: { label: 'Failed', colour: 'text-red' },
};

/** The status in a word, with a dot in its colour that breathes while the status is about to change. */
export function Status({ status }: { readonly status: SandboxStatus }) {
  const { label, colour } = looks[status];
  const isChanging = status === 'provisioning' || status === 'deleting';
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-full bg-current/11 px-2.5 py-0.5 text-[0.8rem] font-medium ${colour}`}
    >
      <span
        aria-hidden
        className={`size-1.5 rounded-full bg-current ${isChanging ? 'animate-breathe' : ''} ${status === 'deleted' ? 'opacity-60' : ''}`}
      />
      {label}
    </span>
  );
}
