import type { DeletedSandbox, Sandbox } from '@mayfly/contract';
import { request } from '../../api/request.ts';
import { announce } from '../../parts/announcements.tsx';
import { BulkDialog } from './bulk-dialog.tsx';
import { countOf } from './names.ts';

/** Deleting waits for the teardown of the machine. */
const timeoutMs = 60_000;

interface DeleteSandboxesProps {
  readonly sandboxes: readonly Sandbox[];
  readonly onClose: () => void;
  /** Called with the ids that are deleted, before `onClose`. */
  readonly onDeleted?: (ids: readonly string[]) => void;
}

/** Asks whether to delete sandboxes, and shows what has become of each. */
export function DeleteSandboxes({ sandboxes, onClose, onDeleted }: DeleteSandboxesProps) {
  const isOne = sandboxes.length === 1;
  return (
    <BulkDialog
      title={isOne ? 'Delete this sandbox?' : `Delete ${countOf(sandboxes.length)}?`}
      sandboxes={sandboxes}
      work={(id) => request<DeletedSandbox | Sandbox>(`/sandboxes/${id}`, { method: 'DELETE', timeoutMs })}
      success="Deleted"
      look="danger"
      action={isOne ? 'Delete the sandbox' : `Delete ${countOf(sandboxes.length)}`}
      keep={isOne ? 'Keep it' : 'Keep them'}
      onSucceeded={(ids) => {
        announce(ids.length === 1 ? 'The sandbox is deleted.' : `${countOf(ids.length)} deleted.`);
        onDeleted?.(ids);
      }}
      onClose={onClose}
    >
      <p className="text-soft">
        {isOne
          ? 'Its machine stops at once, and everything in it is lost.'
          : 'Their machines stop at once, and everything in them is lost.'}{' '}
        Snapshots stay. Nothing is billed from then on.
      </p>
    </BulkDialog>
  );
}
