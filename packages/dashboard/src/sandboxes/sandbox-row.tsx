import type { Account, Sandbox } from '@mayfly/contract';
import { CircleAlert } from 'lucide-react';
import { CopyButton } from '../parts/copy-button.tsx';
import { formatAgo, formatTime } from '../parts/duration.ts';
import { costUsd, formatUsd } from './lifetime.ts';
import { describeReason } from './reason.ts';
import { Status } from './status.tsx';
import { TimeLeftBar } from './time-left-bar.tsx';

interface SandboxRowProps {
  readonly sandbox: Sandbox;
  readonly prices: Account['pricing_usd_per_hour'] | undefined;
  readonly nowMs: number;
}

export function SandboxRow({ sandbox, prices, nowMs }: SandboxRowProps) {
  const { id, name, size, resources, status, created_at } = sandbox;
  const reason = describeReason(sandbox);
  const isOver = status === 'deleted' || status === 'deleting';
  return (
    <tr>
      <th scope="row" className={isOver ? 'text-soft' : ''}>
        <span className="block max-w-96 truncate" title={name ?? undefined}>
          {name ?? <span className="font-normal text-soft">No name</span>}
        </span>
        <span className="-my-1 flex items-center gap-1 text-[0.8rem] font-normal text-soft">
          <code className="truncate font-mono">{id}</code>
          <CopyButton text={id} what="the id" isSmall />
        </span>
        {reason !== undefined && (
          <span
            className={`mt-1 flex max-w-md items-start gap-1.5 text-[0.8rem] font-normal wrap-anywhere ${status === 'failed' ? 'text-red' : 'text-soft'}`}
          >
            {status === 'failed' && <CircleAlert size={14} aria-hidden className="mt-[0.22rem] shrink-0" />}
            {reason}
          </span>
        )}
      </th>
      <td className="corner">
        <Status status={status} />
      </td>
      <td data-label="Size">
        <span>
          <span className="capitalize">{size}</span>
          <span className="block text-[0.8rem] whitespace-nowrap text-soft">
            {resources.vcpu} vCPU, {resources.memory_gb} GB
          </span>
        </span>
      </td>
      <td data-label="Created" className="number">
        <time dateTime={created_at} title={formatTime(created_at)}>
          {formatAgo(nowMs - Date.parse(created_at))}
        </time>
      </td>
      <td data-label="Time left">
        <TimeLeftBar sandbox={sandbox} nowMs={nowMs} />
      </td>
      <td data-label="Cost" className="number end">
        {prices ? formatUsd(costUsd(sandbox, prices, nowMs)) : '–'}
      </td>
    </tr>
  );
}
