import {
  defaultLimits,
  type ForkList,
  type ForkResult,
  fixedLimits,
  maxForkCount,
  type Sandbox,
} from '@mayfly/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowRight, CircleAlert } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { accountQuery } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { ErrorNotice } from '../../parts/notice.tsx';
import { useDelayed } from '../../parts/use-delayed.ts';
import { readMinutes } from './extension.ts';
import { MinutesField } from './minutes-field.tsx';
import { refreshSandboxes } from './refresh.ts';

/** Machines that have to be copied one after the other take a while. */
const timeoutMs = 600_000;

interface ForkSandboxProps {
  readonly sandbox: Sandbox;
  readonly onClose: () => void;
}

/** Makes copies of a running sandbox, and shows what has become of each. */
export function ForkSandbox({ sandbox, onClose }: ForkSandboxProps) {
  const queryClient = useQueryClient();
  const { data: account } = useQuery(accountQuery);
  const maxMinutes = account?.limits.max_timeout_minutes ?? defaultLimits.maxTimeoutMinutes;
  const [count, setCount] = useState('1');
  const [name, setName] = useState(sandbox.name ?? '');
  const [lifetime, setLifetime] = useState(`${Math.min(defaultLimits.defaultTimeoutMinutes, maxMinutes)}`);
  const copies = readMinutes(count, maxForkCount);
  const minutes = readMinutes(lifetime, maxMinutes);
  const fork = useMutation({
    mutationFn: () =>
      request<ForkList>(`/sandboxes/${sandbox.id}/fork`, {
        method: 'POST',
        body: { count: copies, timeout_minutes: minutes, ...(name.trim() !== '' && { name: name.trim() }) },
        timeoutMs,
      }),
    onSettled: () => refreshSandboxes(queryClient),
  });
  const isSlow = useDelayed(fork.isPending);
  if (fork.data) return <Copies results={fork.data.data} onClose={onClose} />;
  const isComplete = copies !== undefined && minutes !== undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete && !fork.isPending) fork.mutate();
  };
  return (
    <Dialog title="Fork this sandbox" onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <p className="text-soft">
          Each copy is a running sandbox of its own that begins with the memory, processes and files of this moment. The
          original stands still for an instant and goes on.
        </p>
        <Field
          label="Copies"
          type="number"
          inputMode="numeric"
          min={1}
          max={maxForkCount}
          step={1}
          value={count}
          onChange={(event) => setCount(event.target.value)}
          error={copies === undefined ? `A whole number, 1 to ${maxForkCount}.` : undefined}
        />
        <Field
          label="Name of the copies"
          autoComplete="off"
          maxLength={fixedLimits.nameCharacters}
          placeholder="None"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <MinutesField
          label="Lifetime of the copies"
          value={lifetime}
          maxMinutes={maxMinutes}
          onChange={setLifetime}
          error={minutes === undefined ? `A whole number of minutes, 1 to ${maxMinutes}.` : undefined}
        />
        {fork.isError && <ErrorNotice error={fork.error} />}
        <DialogActions>
          {isSlow && (
            <p role="status" className="mr-auto self-center text-sm text-soft">
              Copying. You may close this; the copies appear in the list.
            </p>
          )}
          <Button onClick={onClose}>{fork.isPending ? 'Close' : 'Cancel'}</Button>
          <Button type="submit" look="primary" isPending={fork.isPending} disabled={!isComplete}>
            {copies === undefined || copies === 1 ? 'Make a copy' : `Make ${copies} copies`}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** The copies with the way to each, and why others could not be made. */
function Copies({ results, onClose }: { readonly results: readonly ForkResult[]; readonly onClose: () => void }) {
  const made = results.filter(({ sandbox }) => sandbox !== null).length;
  return (
    <Dialog
      title={made === results.length ? 'Copies made' : `${made} of ${results.length} copies made`}
      onClose={onClose}
    >
      <ul className="max-h-[50dvh] divide-y divide-line overflow-y-auto rounded-lg border border-line text-sm">
        {results.map(({ sandbox, error }, index) => (
          <li key={sandbox?.id ?? index}>
            {sandbox ? (
              <Link
                to="/sandboxes/$id"
                params={{ id: sandbox.id }}
                onClick={onClose}
                className="group flex items-center gap-3 px-3.5 py-2.5 hover:bg-panel focus-visible:-outline-offset-2"
              >
                <span className="min-w-0 grow">
                  <span className="block truncate font-medium group-hover:text-accent">
                    {sandbox.name ?? 'No name'}
                  </span>
                  <code className="block truncate font-mono text-[0.75rem] text-soft">{sandbox.id}</code>
                </span>
                <ArrowRight size={16} aria-hidden className="shrink-0 text-soft group-hover:text-accent" />
              </Link>
            ) : (
              <p className="flex items-start gap-2 px-3.5 py-2.5 wrap-anywhere text-red">
                <CircleAlert size={15} aria-hidden className="mt-1 shrink-0" />
                {error?.message ?? 'It could not be made.'}
              </p>
            )}
          </li>
        ))}
      </ul>
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}
