import type { DeletedSnapshot, Snapshot } from '@mayfly/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { refreshSnapshots } from './queries.ts';

/** Several gigabytes are removed before the answer. */
const timeoutMs = 60_000;

interface DeleteSnapshotProps {
  readonly snapshot: Snapshot;
  readonly onClose: () => void;
}

/** Asks whether to delete a snapshot. */
export function DeleteSnapshot({ snapshot: { id, name, alias, status }, onClose }: DeleteSnapshotProps) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => request<DeletedSnapshot>(`/snapshots/${id}`, { method: 'DELETE', timeoutMs }),
    onSuccess: async () => {
      await refreshSnapshots(queryClient);
      announce('The snapshot is deleted.');
      onClose();
    },
  });
  return (
    <Dialog title="Delete this snapshot?" onClose={onClose}>
      <p className="wrap-anywhere">
        <strong className="font-semibold">{name ?? 'No name'}</strong>{' '}
        <code className="font-mono text-[0.82rem] text-soft">{id}</code>
      </p>
      <p className="mt-2 text-soft">
        Nothing can begin from it or be rolled back to it any more. Sandboxes that were made from it go on.
        {alias !== null && (
          <>
            {' '}
            Programs that create sandboxes from the alias{' '}
            <code className="rounded-sm bg-code px-1.5 py-0.5 font-mono text-[0.82rem] wrap-anywhere text-ink">
              {alias}
            </code>{' '}
            fail until another snapshot has it.
          </>
        )}
        {status === 'creating' && ' It is still being taken; that is given up.'}
      </p>
      {remove.isError && (
        <div className="mt-4">
          <ErrorNotice error={remove.error} />
        </div>
      )}
      <DialogActions>
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" isPending={remove.isPending} onClick={() => remove.mutate()}>
          Delete the snapshot
        </Button>
      </DialogActions>
    </Dialog>
  );
}
