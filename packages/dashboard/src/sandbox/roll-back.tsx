import type { Sandbox, Snapshot } from '@mayfly/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { formatAgo, formatTime } from '../parts/duration.ts';
import { ErrorNotice } from '../parts/notice.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { useNow } from '../parts/use-now.ts';
import { sandboxPath, sandboxQuery } from './queries.ts';

/** It waits for a snapshot or fork of the sandbox that is in progress. */
const timeoutMs = 20 * 60_000;

interface RollBackProps {
  readonly sandbox: Sandbox;
  readonly snapshot: Snapshot;
  readonly onClose: () => void;
}

/** Asks whether to put a sandbox back into the state of a snapshot, and says what is lost. */
export function RollBack({ sandbox: { id }, snapshot, onClose }: RollBackProps) {
  const queryClient = useQueryClient();
  const nowMs = useNow();
  const { name, created_at } = snapshot;
  const rollBack = useMutation({
    mutationFn: () =>
      request<Sandbox>(`${sandboxPath(id)}/rollback`, {
        method: 'POST',
        body: { snapshot_id: snapshot.id },
        timeoutMs,
      }),
    onSuccess: (sandbox) => {
      queryClient.setQueryData(sandboxQuery(id).queryKey, sandbox);
      void queryClient.invalidateQueries({ queryKey: ['executions', id] });
      announce('The sandbox is rolled back.');
      onClose();
    },
  });
  const isSlow = useDelayed(rollBack.isPending);
  return (
    <Dialog title="Roll the sandbox back?" onClose={onClose} isDismissible={!rollBack.isPending}>
      <p className="wrap-anywhere">
        To <strong className="font-semibold">{name ?? snapshot.id}</strong>, as it was{' '}
        <time dateTime={created_at} title={formatTime(created_at)}>
          {formatAgo(nowMs - Date.parse(created_at))}
        </time>
        .
      </p>
      <ul className="mt-3 list-disc space-y-1 pl-5 text-soft marker:text-line">
        <li>All files and processes since then are lost. To keep them, take a snapshot first.</li>
        <li>Commands that are running fail. Open terminals and connections are cut.</li>
        <li>The id, the time left, the price and open ports stay.</li>
      </ul>
      {isSlow && (
        <p role="status" className="mt-3 text-sm text-soft">
          Rolling back. If a snapshot or fork of this sandbox is in progress, that is waited for.
        </p>
      )}
      {rollBack.isError && (
        <div className="mt-4">
          <ErrorNotice error={rollBack.error} />
        </div>
      )}
      <DialogActions>
        <Button onClick={onClose} disabled={rollBack.isPending}>
          Leave it as it is
        </Button>
        <Button look="danger" isPending={rollBack.isPending} onClick={() => rollBack.mutate()}>
          Roll it back
        </Button>
      </DialogActions>
    </Dialog>
  );
}
