import { defaultLimits, fixedLimits, type Sandbox } from '@mayfly/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { accountQuery } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { announce } from '../../parts/announcements.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/notice.tsx';
import { useDelayed } from '../../parts/use-delayed.ts';
import { readMinutes } from '../actions/extension.ts';
import { newIdempotencyKey } from '../actions/idempotency-key.ts';
import { MinutesField } from '../actions/minutes-field.tsx';
import { refreshSandboxes } from '../actions/refresh.ts';
import { bodyOf, type NewSandbox } from './call.ts';
import { CallCode } from './call-code.tsx';
import { SizeChoice } from './size-choice.tsx';
import { SnapshotChoice, useReadySnapshots } from './snapshot-choice.tsx';

/** A machine that has to be built takes minutes. */
const timeoutMs = 600_000;

interface CreateSandboxProps {
  /** What it begins from; undefined for a fresh machine. */
  readonly snapshotId: string | undefined;
  readonly onClose: () => void;
}

/** Creates a sandbox, and shows the same call as code while it is filled in. */
export function CreateSandbox({ snapshotId: given, onClose }: CreateSandboxProps) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const { data: account } = useQuery(accountQuery);
  const maxMinutes = account?.limits.max_timeout_minutes ?? defaultLimits.maxTimeoutMinutes;
  const [size, setSize] = useState<NewSandbox['size']>('small');
  const [name, setName] = useState('');
  const [lifetime, setLifetime] = useState(`${Math.min(defaultLimits.defaultTimeoutMinutes, maxMinutes)}`);
  const [snapshotId, setSnapshotId] = useState(given);
  const snapshots = useReadySnapshots();
  const snapshot = snapshots.find(({ id }) => id === snapshotId);
  const minutes = readMinutes(lifetime, maxMinutes);
  const wanted: NewSandbox = { size, name, snapshotId, minutes: minutes ?? defaultLimits.defaultTimeoutMinutes };
  // The same request again, after an answer was lost, must not create another one.
  const attempt = useRef({ body: '', key: '' });
  const create = useMutation({
    mutationFn: () => {
      const body = bodyOf(wanted);
      const text = JSON.stringify(body);
      if (attempt.current.body !== text) attempt.current = { body: text, key: newIdempotencyKey() };
      return request<Sandbox>('/sandboxes', { method: 'POST', body, timeoutMs, idempotencyKey: attempt.current.key });
    },
    onSettled: () => void refreshSandboxes(queryClient),
  });
  const isSlow = useDelayed(create.isPending);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (minutes === undefined || create.isPending) return;
    create.mutate(undefined, {
      onSuccess: ({ id }) => {
        announce('The sandbox is running.');
        void navigate({ to: '/sandboxes/$id', params: { id } });
      },
    });
  };
  return (
    <Dialog title="Create a sandbox" onClose={onClose} isWide>
      <form onSubmit={submit} className="space-y-5">
        <SizeChoice
          value={snapshot?.size ?? size}
          isFixed={snapshotId !== undefined}
          prices={account?.pricing_usd_per_hour}
          onChoose={setSize}
        />
        <div className="grid gap-5 sm:grid-cols-2">
          <Field
            label="Name"
            name="sandbox-name"
            autoComplete="off"
            maxLength={fixedLimits.nameCharacters}
            placeholder="nightly build"
            value={name}
            onChange={(event) => setName(event.target.value)}
            hint="Optional, to find it by."
          />
          <SnapshotChoice snapshots={snapshots} value={snapshotId} onChoose={setSnapshotId} />
        </div>
        <MinutesField
          label="Lifetime"
          value={lifetime}
          maxMinutes={maxMinutes}
          onChange={setLifetime}
          error={minutes === undefined ? `A whole number of minutes, 1 to ${maxMinutes}.` : undefined}
          hint="It is deleted after that, with everything in it. You can extend it."
        />
        <CallCode wanted={wanted} />
        {create.isError && <ErrorNotice error={create.error} />}
        <DialogActions>
          {isSlow && (
            <p role="status" className="mr-auto self-center text-sm text-soft">
              Starting the machine …
            </p>
          )}
          <Button onClick={onClose}>{create.isPending ? 'Close' : 'Cancel'}</Button>
          <Button type="submit" look="primary" isPending={create.isPending} disabled={minutes === undefined}>
            Create sandbox
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
