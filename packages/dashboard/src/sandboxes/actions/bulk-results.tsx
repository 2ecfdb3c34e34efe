import type { Sandbox } from '@mayfly/contract';
import { CircleAlert, CircleCheck, CircleDashed, LoaderCircle } from 'lucide-react';
import { RequestFailure } from '../../api/failure.ts';
import { describeError } from '../../parts/notice.tsx';
import type { Outcome, Outcomes } from './bulk.ts';

interface BulkResultsProps {
  readonly sandboxes: readonly Sandbox[];
  readonly outcomes: Outcomes;
  /** What a success is called: "Deleted". */
  readonly success: string;
}

/** The sandboxes that an action is about, each with what has become of it. */
export function BulkResults({ sandboxes, outcomes, success }: BulkResultsProps) {
  return (
    <ul
      aria-label="Sandboxes"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
      tabIndex={0}
      className="mt-4 max-h-[40dvh] divide-y divide-line overflow-y-auto rounded-lg border border-line text-sm"
    >
      {sandboxes.map(({ id, name }) => {
        const outcome = outcomes.get(id);
        return (
          <li key={id} className="px-3.5 py-2">
            <div className="flex items-center gap-3">
              <span className="min-w-0 grow">
                <span className="block truncate font-medium">
                  {name ?? <span className="font-normal text-soft">No name</span>}
                </span>
                <code className="block truncate font-mono text-[0.75rem] text-soft">{id}</code>
              </span>
              {outcome && <State outcome={outcome} success={success} />}
            </div>
            {outcome?.state === 'failed' && <Reason error={outcome.error} />}
          </li>
        );
      })}
    </ul>
  );
}

const looks = {
  waiting: { Icon: CircleDashed, look: 'text-soft', label: 'Waiting' },
  running: { Icon: LoaderCircle, look: 'text-accent', label: 'In progress' },
  succeeded: { Icon: CircleCheck, look: 'text-green', label: undefined },
  failed: { Icon: CircleAlert, look: 'text-red', label: 'Failed' },
} as const;

function State({ outcome: { state }, success }: { readonly outcome: Outcome; readonly success: string }) {
  const { Icon, look, label } = looks[state];
  return (
    <span className={`inline-flex shrink-0 items-center gap-1.5 text-[0.8rem] font-medium ${look}`}>
      <Icon size={15} aria-hidden className={state === 'running' ? 'animate-spin motion-reduce:animate-breathe' : ''} />
      {label ?? success}
    </span>
  );
}

/** One result of many has no notice of its own, but always its request id. */
function Reason({ error }: { readonly error: unknown }) {
  const requestId = error instanceof RequestFailure ? error.requestId : undefined;
  return (
    <p className="mt-1 text-[0.8rem] wrap-anywhere text-red">
      {describeError(error).message}
      {requestId !== undefined && (
        <span className="block text-soft">
          Request <code className="font-mono select-all">{requestId}</code>
        </span>
      )}
    </p>
  );
}
