import { fixedLimits, type Sandbox, type Snapshot } from '@mayfly/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { request } from '../../api/request.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/notice.tsx';
import { useDelayed } from '../../parts/use-delayed.ts';
import { refreshSnapshots } from '../../snapshots/queries.ts';
import { newIdempotencyKey } from './idempotency-key.ts';

/** A sandbox with much memory in use takes minutes. */
const timeoutMs = 600_000;

interface TakeSnapshotProps {
  readonly sandbox: Sandbox;
  readonly onClose: () => void;
}

/** Saves memory and disk of a running sandbox. */
export function TakeSnapshot({ sandbox, onClose }: TakeSnapshotProps) {
  const queryClient = useQueryClient();
  const [name, setName] = useState('');
  const [alias, setAlias] = useState('');
  const [idempotencyKey] = useState(newIdempotencyKey);
  const take = useMutation({
    mutationFn: () =>
      request<Snapshot>(`/sandboxes/${sandbox.id}/snapshots`, {
        method: 'POST',
        body: { ...(name.trim() !== '' && { name: name.trim() }), ...(alias.trim() !== '' && { alias: alias.trim() }) },
        timeoutMs,
        idempotencyKey,
      }),
    onSettled: () => refreshSnapshots(queryClient),
  });
  const isSlow = useDelayed(take.isPending);
  if (take.data) return <Taken snapshot={take.data} onClose={onClose} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!take.isPending) take.mutate();
  };
  return (
    <Dialog title="Take a snapshot" onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <p className="text-soft">
          Memory and disk are saved as they are at this moment. The sandbox stands still for less than a second and goes
          on; new sandboxes can begin from there.
        </p>
        <Field
          label="Name"
          autoComplete="off"
          maxLength={fixedLimits.nameCharacters}
          placeholder="after install"
          value={name}
          onChange={(event) => setName(event.target.value)}
          hint="Optional."
        />
        <Field
          label="Alias"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={fixedLimits.aliasCharacters}
          placeholder="web-app"
          value={alias}
          onChange={(event) => setAlias(event.target.value)}
          hint="Optional. Programs create sandboxes from it by this name, which no other snapshot may have."
          className="font-mono"
        />
        {isSlow && (
          <p role="status" className="text-sm text-soft">
            Saving memory and disk. With much memory in use that takes minutes; you may close this meanwhile.
          </p>
        )}
        {take.isError && <ErrorNotice error={take.error} />}
        <DialogActions>
          <Button onClick={onClose}>{take.isPending ? 'Close' : 'Cancel'}</Button>
          <Button type="submit" look="primary" isPending={take.isPending}>
            Take the snapshot
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function Taken({ snapshot: { id, name }, onClose }: { readonly snapshot: Snapshot; readonly onClose: () => void }) {
  return (
    <Dialog title="Snapshot taken" onClose={onClose}>
      <p className="wrap-anywhere">{name ?? 'It has no name.'}</p>
      <p className="flex items-center gap-1 text-[0.82rem] text-soft">
        <code className="truncate font-mono">{id}</code>
        <CopyButton text={id} what="the id" isSmall />
      </p>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Link to="/snapshots" onClick={onClose} className={buttonClass('primary')}>
          Show the snapshots
        </Link>
      </DialogActions>
    </Dialog>
  );
}
