import type { DeletedSnapshot, Snapshot } from '@mayfly/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { refreshSnapshots } from '../snapshots/queries.ts';

interface DeleteSnapshotProps {
  readonly snapshot: Snapshot;
  readonly onClose: () => void;
}

/** Asks whether to delete a snapshot. */
export function DeleteSnapshot({ snapshot: { id, name }, onClose }: DeleteSnapshotProps) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => request<DeletedSnapshot>(`/snapshots/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await refreshSnapshots(queryClient);
      announce('The snapshot is deleted.');
      onClose();
    },
  });
  return (
    <Dialog title="Delete this snapshot?" onClose={onClose}>
      <p className="font-medium wrap-anywhere">{name ?? id}</p>
      <p className="mt-2 text-soft">It cannot be restored. Sandboxes that were made from it keep working.</p>
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
