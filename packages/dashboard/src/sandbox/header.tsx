import type { Sandbox } from '@mayfly/contract';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { accountQuery } from '../api/queries.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { useNow } from '../parts/use-now.ts';
import { costUsd, formatCostSoFar } from '../sandboxes/lifetime.ts';
import { Status } from '../sandboxes/status.tsx';
import { TimeLeftBar } from '../sandboxes/time-left-bar.tsx';
import { Actions } from './actions.tsx';

/** The name, the state, and what can be done with the sandbox. Coming to the page moves the focus to the name. */
export function SandboxHeader({ sandbox }: { readonly sandbox: Sandbox }) {
  const { id, name, size, status, resources } = sandbox;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-6 gap-y-4">
      <div className="min-w-0">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
          <h1
            ref={heading}
            tabIndex={-1}
            className={`text-[1.75rem] font-bold tracking-[-0.02em] wrap-anywhere outline-none md:text-[2rem] ${name === null ? 'font-mono !text-xl md:!text-2xl' : ''}`}
          >
            {name ?? id}
          </h1>
          <span role="status">
            <Status status={status} />
          </span>
        </div>
        <p className="mt-1 flex flex-wrap items-center gap-x-3 text-sm text-soft">
          <span>
            <span className="capitalize">{size}</span>, {resources.vcpu} vCPU, {resources.memory_gb} GB
          </span>
          <span className="flex items-center gap-0.5">
            <code className="font-mono text-[0.8rem] wrap-anywhere">{id}</code>
            <CopyButton text={id} what="the id" isSmall />
          </span>
        </p>
      </div>

      <Actions sandbox={sandbox} />
      <Meters sandbox={sandbox} />
    </header>
  );
}

/** The time left and the cost, which change every second. */
function Meters({ sandbox }: { readonly sandbox: Sandbox }) {
  const nowMs = useNow();
  const { data: account } = useQuery(accountQuery);
  return (
    <dl className="col-span-2 flex flex-wrap gap-x-10 gap-y-3">
      {sandbox.status === 'running' && (
        <div className="w-56 max-w-full">
          <dt className="mb-0.5 text-[0.8rem] text-soft">Time left</dt>
          <dd>
            <TimeLeftBar sandbox={sandbox} nowMs={nowMs} />
          </dd>
        </div>
      )}
      <div>
        <dt className="mb-0.5 text-[0.8rem] text-soft">{sandbox.ended_at === null ? 'Cost so far' : 'Cost'}</dt>
        <dd className="text-sm tabular-nums">
          {account ? formatCostSoFar(costUsd(sandbox, account.pricing_usd_per_hour, nowMs)) : '–'}
        </dd>
      </div>
    </dl>
  );
}
