import { useState } from 'react';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { Notice } from '../parts/notice.tsx';

interface CloseTerminalProps {
  readonly label: string;
  readonly onCancel: () => void;
  readonly onDetach: () => void;
  /** Returns whether the service could be told. */
  readonly onEnd: () => boolean;
}

/** Asks what becomes of the shell of a tab that is closed. */
export function CloseTerminal({ label, onCancel, onDetach, onEnd }: CloseTerminalProps) {
  const [hasFailed, setHasFailed] = useState(false);
  return (
    <Dialog title="Close this terminal?" onClose={onCancel}>
      <p className="font-mono text-sm wrap-anywhere">{label}</p>
      <p className="mt-2 text-soft">
        Its shell can go on without a tab: it is listed above the terminals, and can be shown again. A shell that nobody
        has looked at for two hours is ended. Ending it also stops the programs that run in it.
      </p>
      {hasFailed && (
        <div className="mt-4">
          <Notice kind="error">The terminal is not connected now. Wait until it is, or keep the shell running.</Notice>
        </div>
      )}
      <DialogActions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button look="danger" onClick={() => setHasFailed(!onEnd())}>
          End the shell
        </Button>
        <Button look="primary" onClick={onDetach}>
          Keep it running
        </Button>
      </DialogActions>
    </Dialog>
  );
}
