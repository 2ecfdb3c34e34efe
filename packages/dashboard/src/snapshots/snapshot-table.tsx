import { formatBytes, type Snapshot } from '@mayfly/contract';
import { Link, useNavigate } from '@tanstack/react-router';
import { Box, EllipsisVertical, Plus, Trash2 } from 'lucide-react';
import { Ago } from '../parts/ago.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Menu, MenuItem, MenuSeparator } from '../parts/menu.tsx';
import { SnapshotStatus } from './snapshot-status.tsx';

interface SnapshotTableProps {
  readonly snapshots: readonly Snapshot[];
  readonly onDelete: (snapshot: Snapshot) => void;
}

export function SnapshotTable({ snapshots, onDelete }: SnapshotTableProps) {
  return (
    <div className="table-box">
      <table className="table" aria-label="Snapshots">
        <thead>
          <tr>
            <th scope="col">Snapshot</th>
            <th scope="col">Status</th>
            <th scope="col">Alias</th>
            <th scope="col">Size</th>
            <th scope="col">Created</th>
            <th scope="col">Taken of</th>
            <th scope="col" className="menu">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {snapshots.map((snapshot) => (
            <SnapshotRow key={snapshot.id} snapshot={snapshot} onDelete={onDelete} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface SnapshotRowProps {
  readonly snapshot: Snapshot;
  readonly onDelete: (snapshot: Snapshot) => void;
}

function SnapshotRow({ snapshot, onDelete }: SnapshotRowProps) {
  const { id, name, alias, size, status, bytes, created_at, sandbox_id } = snapshot;
  return (
    <tr>
      <th scope="row">
        <span className="block max-w-72 truncate max-md:pr-6" title={name ?? undefined}>
          {name ?? <span className="font-normal text-soft">No name</span>}
        </span>
        <span className="-my-1 flex items-center gap-1 text-[0.8rem] font-normal text-soft">
          <code className="truncate font-mono">{id}</code>
          <CopyButton text={id} what="the id" isSmall />
        </span>
      </th>
      <td className="corner">
        <SnapshotStatus status={status} />
      </td>
      <td data-label="Alias">
        {alias === null ? (
          <span className="text-soft">–</span>
        ) : (
          <code className="block max-w-40 truncate font-mono text-[0.82rem]" title={alias}>
            {alias}
          </code>
        )}
      </td>
      <td data-label="Size">
        <span>
          <span className="capitalize">{size}</span>
          {status === 'ready' && (
            <span className="block text-[0.8rem] whitespace-nowrap text-soft tabular-nums">{formatBytes(bytes)}</span>
          )}
        </span>
      </td>
      <td data-label="Created" className="number">
        <Ago at={created_at} />
      </td>
      <td data-label="Taken of">
        <Link
          to="/sandboxes/$id"
          params={{ id: sandbox_id }}
          title={sandbox_id}
          className="block max-w-36 truncate font-mono text-[0.8rem] text-soft decoration-accent/50 underline-offset-3 hover:text-accent hover:underline"
        >
          {sandbox_id}
        </Link>
      </td>
      <td className="menu">
        <SnapshotMenu snapshot={snapshot} onDelete={onDelete} />
      </td>
    </tr>
  );
}

function SnapshotMenu({ snapshot, onDelete }: SnapshotRowProps) {
  const navigate = useNavigate();
  const { id, name, alias, status, sandbox_id } = snapshot;
  return (
    <Menu
      label={`Actions for ${name ?? alias ?? id}`}
      trigger={<EllipsisVertical size={17} aria-hidden />}
      triggerClass="grid size-9 place-items-center rounded-md text-soft hover:bg-tint hover:text-ink aria-expanded:bg-tint aria-expanded:text-ink"
    >
      {status === 'ready' && (
        <MenuItem
          icon={<Plus size={16} aria-hidden />}
          label="Create a sandbox from it"
          onSelect={() => void navigate({ to: '/sandboxes', search: { create: true, from: id } })}
        />
      )}
      <MenuItem
        icon={<Box size={16} aria-hidden />}
        label="Open its sandbox"
        onSelect={() => void navigate({ to: '/sandboxes/$id', params: { id: sandbox_id } })}
      />
      <MenuSeparator />
      <MenuItem
        icon={<Trash2 size={16} aria-hidden />}
        label="Delete…"
        isDangerous
        onSelect={() => onDelete(snapshot)}
      />
    </Menu>
  );
}
