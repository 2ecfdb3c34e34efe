import type { Account, Sandbox } from '@mayfly/contract';
import { Link } from '@tanstack/react-router';
import { CircleAlert } from 'lucide-react';
import { memo } from 'react';
import { Checkbox } from '../parts/checkbox.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { formatAgo, formatTime } from '../parts/duration.ts';
import { useNow } from '../parts/use-now.ts';
import { costUsd, formatCostSoFar } from './lifetime.ts';
import { describeReason } from './reason.ts';
import { RowMenu, type SandboxAction } from './row-menu.tsx';
import { isSelectable } from './selection.ts';
import { Status } from './status.tsx';
import { TimeLeftBar } from './time-left-bar.tsx';

interface SandboxRowProps {
  readonly sandbox: Sandbox;
  /** Its place in the list, from 0. */
  readonly index: number;
  readonly prices: Account['pricing_usd_per_hour'] | undefined;
  readonly isSelected: boolean;
  readonly onSelect: (id: string, isRange: boolean) => void;
  readonly onAction: (action: SandboxAction, sandbox: Sandbox) => void;
  readonly measure: (row: HTMLTableRowElement | null) => void;
}

/** The header has the index 1. */
const firstRowIndex = 2;

export const SandboxRow = memo(function SandboxRow(props: SandboxRowProps) {
  const { sandbox, index, prices, isSelected, onSelect, onAction, measure } = props;
  const nowMs = useNow();
  const { id, name, size, resources, status, created_at } = sandbox;
  const isOver = status === 'deleted' || status === 'deleting';
  return (
    <tr ref={measure} data-index={index} aria-rowindex={index + firstRowIndex} data-selected={isSelected}>
      <td className="check">
        <Checkbox
          label={`Select ${name ?? id}`}
          isChecked={isSelected}
          isDisabled={!isSelectable(sandbox)}
          onToggle={(isRange) => onSelect(id, isRange)}
        />
      </td>
      <th scope="row" className={isOver ? 'text-soft' : ''}>
        <span className="flex max-md:pr-26" title={name ?? undefined}>
          <Link
            to="/sandboxes/$id"
            params={{ id }}
            className="min-w-0 truncate decoration-accent/50 underline-offset-3 hover:text-accent hover:underline"
          >
            {name ?? <span className="font-normal text-soft">No name</span>}
          </Link>
        </span>
        <span className="-my-1 flex items-center gap-1 text-[0.8rem] font-normal text-soft">
          <code className="truncate font-mono">{id}</code>
          <CopyButton text={id} what="the id" isSmall />
        </span>
        <Reason sandbox={sandbox} />
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
      <td data-label="Created" className="number md:max-lg:hidden">
        <time dateTime={created_at} title={formatTime(created_at)}>
          {formatAgo(nowMs - Date.parse(created_at))}
        </time>
      </td>
      <td data-label="Time left">
        <TimeLeftBar sandbox={sandbox} nowMs={nowMs} />
      </td>
      <td data-label="Cost" className="number end">
        {prices ? formatCostSoFar(costUsd(sandbox, prices, nowMs)) : '–'}
      </td>
      <td className="menu">
        <RowMenu sandbox={sandbox} onAction={onAction} />
      </td>
    </tr>
  );
});

function Reason({ sandbox }: { readonly sandbox: Sandbox }) {
  const reason = describeReason(sandbox);
  if (reason === undefined) return null;
  const isFailed = sandbox.status === 'failed';
  return (
    <span
      className={`mt-1 flex max-w-md items-start gap-1.5 text-[0.8rem] font-normal wrap-anywhere ${isFailed ? 'text-red' : 'text-soft'}`}
    >
      {isFailed && <CircleAlert size={14} aria-hidden className="mt-[0.22rem] shrink-0" />}
      {reason}
    </span>
  );
}
