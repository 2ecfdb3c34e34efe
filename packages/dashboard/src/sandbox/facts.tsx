import type { Sandbox } from '@mayfly/contract';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Ago } from '../parts/ago.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { formatDuration, formatTime } from '../parts/duration.ts';
import { useNow } from '../parts/use-now.ts';
import { ranMs } from '../sandboxes/lifetime.ts';

/** What is known about a sandbox that does not change by the second. */
export function Facts({ sandbox }: { readonly sandbox: Sandbox }) {
  const { size, resources, snapshot_id, timeout_minutes, created_at, ready_at, expires_at, ended_at } = sandbox;
  return (
    <section aria-labelledby="facts">
      <h2 id="facts" className="mb-3 text-base font-semibold">
        Details
      </h2>
      <dl className="divide-y divide-line rounded-lg border border-line text-sm">
        <Fact name="Size">
          <span className="capitalize">{size}</span>
        </Fact>
        <Fact name="vCPU">{resources.vcpu}</Fact>
        <Fact name="Memory">{resources.memory_gb} GB</Fact>
        <Fact name="Disk">{resources.disk_gb} GB</Fact>
        <Fact name="Created">
          <Ago at={created_at} />
        </Fact>
        <Fact name="Ready">
          {ready_at === null ? (
            'never'
          ) : (
            <span title={formatTime(ready_at)}>{describeStart(created_at, ready_at)}</span>
          )}
        </Fact>
        <Fact name="Lifetime">{formatDuration(timeout_minutes * 60_000)}</Fact>
        {ended_at === null
          ? expires_at !== null && <Fact name="Expires">{formatTime(expires_at)}</Fact>
          : ready_at !== null && (
              <Fact name="Ran for">
                <Ran sandbox={sandbox} />
              </Fact>
            )}
        {ended_at !== null && <Fact name="Ended">{formatTime(ended_at)}</Fact>}
        {snapshot_id !== null && (
          <Fact name="Created from">
            <span className="flex min-w-0 items-center justify-end">
              <Link
                to="/snapshots"
                className="truncate font-mono text-[0.8rem] text-accent underline-offset-2 hover:underline"
                title={snapshot_id}
              >
                {snapshot_id}
              </Link>
              <span className="-my-2">
                <CopyButton text={snapshot_id} what="the id of the snapshot" isSmall />
              </span>
            </span>
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-4 px-4 py-2.5">
      <dt className="shrink-0 text-soft">{name}</dt>
      <dd className="min-w-0 text-right tabular-nums">{children}</dd>
    </div>
  );
}

function Ran({ sandbox }: { readonly sandbox: Sandbox }) {
  return formatDuration(ranMs(sandbox, useNow()));
}

/** How long the start took: "after 0.7 s". */
function describeStart(createdAt: string, readyAt: string): string {
  const ms = Math.max(0, Date.parse(readyAt) - Date.parse(createdAt));
  return `after ${ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : formatDuration(ms)}`;
}
