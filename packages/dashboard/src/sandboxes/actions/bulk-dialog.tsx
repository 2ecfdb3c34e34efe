import type { Sandbox } from '@mayfly/contract';
import type { FormEvent, ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import type { Outcomes } from './bulk.ts';
import { BulkResults } from './bulk-results.tsx';
import { countOf } from './names.ts';
import { useBulk } from './use-bulk.ts';

interface BulkDialogProps {
  readonly title: string;
  readonly sandboxes: readonly Sandbox[];
  readonly work: (id: string) => Promise<unknown>;
  /** What a success is called: "Deleted". */
  readonly success: string;
  readonly look: 'primary' | 'danger';
  /** The button that does it, and the one that does not. */
  readonly action: string;
  readonly keep: string;
  readonly isDisabled?: boolean;
  /** Called with the ids that succeeded, once none has failed or the dialog is closed after it. */
  readonly onSucceeded: (ids: readonly string[]) => void;
  readonly onClose: () => void;
  /** What is asked. */
  readonly children: ReactNode;
}

/**
 * Asks for an action on sandboxes, does it, and shows the result of each. It closes by itself only if there is one and that succeeds; those that failed
 * can be tried again.
 */
export function BulkDialog(props: BulkDialogProps) {
  const { title, sandboxes, work, success, look, action, keep, isDisabled = false, onSucceeded, onClose } = props;
  const { outcomes, isRunning, progress, run, retry } = useBulk(work);
  const isAsking = progress.total === 0;
  const begin = async (start: () => Promise<Outcomes>) => {
    const results = await start();
    const succeeded = [...results].filter(([, { state }]) => state === 'succeeded').map(([id]) => id);
    if (sandboxes.length > 1 || succeeded.length === 0) return;
    onSucceeded(succeeded);
    onClose();
  };
  const close = () => {
    const succeeded = [...outcomes].filter(([, { state }]) => state === 'succeeded').map(([id]) => id);
    if (succeeded.length > 0) onSucceeded(succeeded);
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isAsking && !isDisabled) void begin(() => run(sandboxes.map(({ id }) => id)));
  };
  return (
    <Dialog title={title} onClose={close} isWide={sandboxes.length > 1}>
      <form onSubmit={submit}>
        {(isAsking || sandboxes.length === 1) && props.children}
        {!isAsking && sandboxes.length > 1 && (
          <div role="status" className="text-soft tabular-nums">
            {describeProgress(progress)}
          </div>
        )}
        <BulkResults sandboxes={sandboxes} outcomes={outcomes} success={success} />
        <DialogActions>
          {(isAsking || !progress.isOver || progress.failed > 0) && (
            <Button onClick={close}>{isAsking ? keep : isRunning ? 'Stop' : 'Close'}</Button>
          )}
          {progress.failed > 0 && progress.isOver ? (
            <Button look={look} isPending={isRunning} onClick={() => void begin(retry)}>
              {progress.failed === 1 ? 'Try again' : `Try ${countOf(progress.failed)} again`}
            </Button>
          ) : progress.isOver && !isRunning ? (
            <Button look="primary" onClick={close}>
              Done
            </Button>
          ) : (
            <Button type="submit" look={look} isPending={isRunning} disabled={isDisabled}>
              {action}
            </Button>
          )}
        </DialogActions>
      </form>
    </Dialog>
  );
}

function describeProgress({ total, succeeded, failed, isOver }: ReturnType<typeof useBulk>['progress']): string {
  if (!isOver) return `${succeeded + failed} of ${total} done …`;
  return failed === 0 ? `All ${total} done.` : `${succeeded} of ${total} done, ${failed} failed.`;
}
