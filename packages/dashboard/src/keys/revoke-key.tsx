import type { ApiKey, RevokedApiKey } from '@mayfly/contract/dashboard';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { keysQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { Ago } from '../parts/ago.tsx';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { ErrorNotice } from '../parts/notice.tsx';

interface RevokeKeyProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

/** Asks whether to revoke a key, and says what is known about its use. */
export function RevokeKey({ apiKey, onClose }: RevokeKeyProps) {
  const queryClient = useQueryClient();
  const { id, name, prefix, last_used_at } = apiKey;
  const revoke = useMutation({
    mutationFn: () => request<RevokedApiKey>(`/keys/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });
      announce('The key is revoked.');
      onClose();
    },
  });
  return (
    <Dialog title="Revoke this key?" onClose={onClose}>
      <p className="wrap-anywhere">
        <strong className="font-semibold">{name ?? 'No name'}</strong>{' '}
        <code className="font-mono text-[0.82rem] text-soft">{prefix}…</code>
      </p>
      <p className="mt-2 text-soft">
        Programs that use it are refused from now on, and it cannot be restored. Sandboxes that it created go on.{' '}
        {last_used_at === null ? (
          'It was never used.'
        ) : (
          <>
            It was last used <Ago at={last_used_at} />.
          </>
        )}
      </p>
      {revoke.isError && (
        <div className="mt-4">
          <ErrorNotice error={revoke.error} />
        </div>
      )}
      <DialogActions>
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" isPending={revoke.isPending} onClick={() => revoke.mutate()}>
          Revoke the key
        </Button>
      </DialogActions>
    </Dialog>
  );
}
