import type { ApiKey, ApiKeyList } from '@mayfly/contract/dashboard';
import { useQuery } from '@tanstack/react-query';
import { ChevronRight, KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { keysQuery } from '../api/queries.ts';
import { Ago } from '../parts/ago.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Page, Skeleton } from '../parts/page.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { CreateKey } from './create-key.tsx';
import { RevokeKey } from './revoke-key.tsx';
import { describeRoom } from './room.ts';

export function KeysPage() {
  const keys = useQuery(keysQuery);
  const [isCreating, setIsCreating] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey>();
  const isSlow = useDelayed(keys.isPending);
  const isFull = keys.data !== undefined && keys.data.active >= keys.data.limit;
  const active = keys.data?.data.filter((key) => key.revoked_at === null) ?? [];
  const revoked = keys.data?.data.filter((key) => key.revoked_at !== null) ?? [];
  const create = (
    <Button
      look="primary"
      icon={<Plus size={17} aria-hidden />}
      disabled={isFull || keys.data === undefined}
      aria-describedby="room"
      onClick={() => setIsCreating(true)}
    >
      Create key
    </Button>
  );
  return (
    <Page
      title="API keys"
      description="A key lets a program use this account: create sandboxes, run commands, spend credit."
      action={create}
    >
      {keys.isPending && isSlow && <Skeleton />}
      {keys.isError && !keys.data && (
        <ErrorNotice error={keys.error} action={<Button onClick={() => void keys.refetch()}>Try again</Button>} />
      )}
      {keys.data && (
        <>
          <Room keys={keys.data} />
          {active.length === 0 ? <NoKeys /> : <KeyTable keys={active} onRevoke={setRevoking} />}
          {revoked.length > 0 && <RevokedKeys keys={revoked} />}
        </>
      )}
      {isCreating && keys.data && <CreateKey keys={keys.data} onClose={() => setIsCreating(false)} />}
      {revoking && <RevokeKey apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </Page>
  );
}

/** How many keys there are and may be, said before the limit is hit. */
function Room({ keys: { active, limit } }: { readonly keys: ApiKeyList }) {
  const isNear = limit - active <= 2;
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2 text-sm">
      {limit <= 20 && (
        <div aria-hidden className="flex gap-1">
          {Array.from({ length: limit }, (_, index) => (
            <span
              key={index}
              className={`h-1.5 w-4 rounded-full ${index >= active ? 'bg-line' : isNear ? 'bg-amber-mark' : 'bg-accent'}`}
            />
          ))}
        </div>
      )}
      <p id="room" className={isNear ? 'text-ink' : 'text-soft'}>
        {describeRoom(active, limit)}
      </p>
    </div>
  );
}

function NoKeys() {
  return (
    <div className="animate-appear rounded-xl border border-line border-dashed px-6 py-12 text-center">
      <KeyRound size={30} aria-hidden className="mx-auto mb-3 text-accent" />
      <p className="text-base font-medium">No active key</p>
      <p className="mx-auto mt-1 max-w-md text-soft">
        Create one for each program or person that uses the service, so that you can revoke one without the others.
      </p>
    </div>
  );
}

interface KeyTableProps {
  readonly keys: readonly ApiKey[];
  readonly onRevoke: (key: ApiKey) => void;
}

function KeyTable({ keys, onRevoke }: KeyTableProps) {
  return (
    <div className="table-box">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Begins with</th>
            <th scope="col">Created</th>
            <th scope="col">Last used</th>
            <th scope="col">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <th scope="row">
                <KeyName apiKey={key} />
              </th>
              <td data-label="Begins with" className="max-md:col-span-2">
                <code className="font-mono text-[0.82rem]">{key.prefix}…</code>
              </td>
              <td data-label="Created" className="number">
                <Ago at={key.created_at} />
              </td>
              <td data-label="Last used" className="number">
                {key.last_used_at === null ? <span className="text-soft">never</span> : <Ago at={key.last_used_at} />}
              </td>
              <td className="corner end">
                <Button look="quiet" className="-my-1 -mr-3 hover:!text-red" onClick={() => onRevoke(key)}>
                  Revoke<span className="sr-only"> {key.name ?? key.prefix}</span>
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function KeyName({ apiKey: { name } }: { readonly apiKey: ApiKey }) {
  return name === null || name === '' ? (
    <span className="text-soft">No name</span>
  ) : (
    <span className="block max-w-96 wrap-anywhere">{name}</span>
  );
}

function RevokedKeys({ keys }: { readonly keys: readonly ApiKey[] }) {
  return (
    <details className="group mt-6">
      <summary className="inline-flex list-none items-center gap-1.5 rounded-md text-sm text-soft hover:text-ink">
        <ChevronRight size={16} aria-hidden className="transition-transform group-open:rotate-90" />
        {keys.length} revoked {keys.length === 1 ? 'key' : 'keys'}
      </summary>
      <ul className="mt-3 divide-y divide-line rounded-lg border border-line">
        {keys.map((key) => (
          <li key={key.id} className="flex flex-wrap items-baseline gap-x-4 gap-y-0.5 px-4 py-2.5 text-sm text-soft">
            <KeyName apiKey={key} />
            <code className="font-mono text-[0.8rem]">{key.prefix}…</code>
            {key.revoked_at !== null && (
              <span className="ml-auto">
                revoked <Ago at={key.revoked_at} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
