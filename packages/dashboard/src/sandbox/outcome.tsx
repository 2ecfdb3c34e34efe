import type { Sandbox } from '@mayfly/contract';
import { Link } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, LoaderCircle } from 'lucide-react';
import type { ReactNode } from 'react';
import { Ago } from '../parts/ago.tsx';
import { buttonClass } from '../parts/button.tsx';
import { describeReason } from '../sandboxes/reason.ts';

/** Why and when a sandbox failed or ended; nothing while it is healthy. */
export function Outcome({ sandbox }: { readonly sandbox: Sandbox }) {
  const { status, ended_at, ready_at } = sandbox;
  if (status === 'running' || status === 'provisioning') return null;
  const reason = describeReason(sandbox);
  const hasFailed = status === 'failed';
  const Icon = hasFailed ? CircleAlert : CircleCheck;
  return (
    <div
      className={`mt-5 flex items-start gap-3 rounded-lg px-4 py-3.5 ${hasFailed ? 'bg-red/9' : 'bg-panel inset-ring inset-ring-line'}`}
    >
      <Icon size={19} aria-hidden className={`mt-0.5 shrink-0 ${hasFailed ? 'text-red' : 'text-soft'}`} />
      <div className="min-w-0">
        <p className="font-medium wrap-anywhere">
          {reason ?? (status === 'deleting' ? 'It is being deleted' : 'It has ended')}
        </p>
        <p className="mt-0.5 text-sm text-soft">
          {ended_at !== null && (
            <>
              {hasFailed ? 'Failed' : 'Ended'} <Ago at={ended_at} />.{' '}
            </>
          )}
          {ready_at === null
            ? 'It never ran, so it cost nothing.'
            : 'Its machine is gone. The output of its commands and its snapshots are still there.'}
        </p>
      </div>
    </div>
  );
}

interface NeedsMachineProps {
  readonly sandbox: Sandbox;
  /** What the tab is for: "A terminal". */
  readonly what: string;
  /** What still works instead. */
  readonly children?: ReactNode;
}

/** In place of a tab that needs a running machine. */
export function NeedsMachine({ sandbox: { id, status }, what, children }: NeedsMachineProps) {
  if (status === 'provisioning') {
    return (
      <div role="status" className="rounded-xl border border-line border-dashed px-6 py-12 text-center">
        <LoaderCircle
          size={24}
          aria-hidden
          className="mx-auto mb-3 animate-spin text-accent motion-reduce:animate-breathe"
        />
        <p className="text-base font-medium">The sandbox is starting</p>
        <p className="mt-1 text-soft">This takes about a second.</p>
      </div>
    );
  }
  return (
    <div className="rounded-xl border border-line border-dashed px-6 py-12 text-center">
      <p className="text-base font-medium">{what} needs a running machine</p>
      <p className="mx-auto mt-1 max-w-md text-soft">
        {children ?? 'This one has ended. The output of its commands is still there.'}
      </p>
      <div className="mt-5 flex flex-wrap justify-center gap-2">
        <Link to="/sandboxes/$id/commands" params={{ id }} className={buttonClass('plain')}>
          Its commands
        </Link>
        <Link to="/sandboxes/$id/snapshots" params={{ id }} className={buttonClass('plain')}>
          Its snapshots
        </Link>
      </div>
    </div>
  );
}
