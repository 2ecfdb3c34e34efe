import type { ClosedPort, Port, PortList } from '@mayfly/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { request } from '../api/request.ts';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { sandboxPath } from '../sandbox/queries.ts';
import { portsQuery } from './queries.ts';

interface ClosePortProps {
  readonly port: Port;
  readonly onClose: () => void;
}

/** Asks whether to close a port. */
export function ClosePort({ port: { port, sandbox_id }, onClose }: ClosePortProps) {
  const queryClient = useQueryClient();
  const close = useMutation({
    mutationFn: () => request<ClosedPort>(`${sandboxPath(sandbox_id)}/ports/${port}`, { method: 'DELETE' }),
    onSuccess: () => {
      const { queryKey } = portsQuery(sandbox_id);
      queryClient.setQueryData<PortList>(
        queryKey,
        (list) => list && { ...list, data: list.data.filter((open) => open.port !== port) },
      );
      announce(`Port ${port} is closed.`);
      onClose();
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: portsQuery(sandbox_id).queryKey }),
  });
  return (
    <Dialog title={`Close port ${port}?`} onClose={onClose}>
      <p className="text-soft">
        Its URL stops working at once, and open connections are cut. The server in the sandbox keeps running. If you
        open the port again, it gets another URL.
      </p>
      {close.isError && (
        <div className="mt-4">
          <ErrorNotice error={close.error} />
        </div>
      )}
      <DialogActions>
        <Button onClick={onClose}>Keep it open</Button>
        <Button look="danger" isPending={close.isPending} onClick={() => close.mutate()}>
          Close the port
        </Button>
      </DialogActions>
    </Dialog>
  );
}
