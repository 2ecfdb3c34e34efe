import type { Sandbox } from '@mayfly/contract';
import { useNavigate } from '@tanstack/react-router';
import { Box, Camera, ClockPlus, CopyPlus, EllipsisVertical, SquareTerminal, Trash2 } from 'lucide-react';
import { Menu, MenuItem, MenuSeparator } from '../parts/menu.tsx';

/** What a row's menu opens a dialog for. */
export type SandboxAction = 'extend' | 'fork' | 'snapshot' | 'delete';

interface RowMenuProps {
  readonly sandbox: Sandbox;
  readonly onAction: (action: SandboxAction, sandbox: Sandbox) => void;
}

/** What can be done with one sandbox in its state. */
export function RowMenu({ sandbox, onAction }: RowMenuProps) {
  const navigate = useNavigate();
  const { id, name, status } = sandbox;
  const params = { id };
  return (
    <Menu
      label={`Actions for ${name ?? id}`}
      trigger={<EllipsisVertical size={17} aria-hidden />}
      triggerClass="grid size-9 place-items-center rounded-md text-soft hover:bg-tint hover:text-ink aria-expanded:bg-tint aria-expanded:text-ink"
    >
      <MenuItem
        icon={<Box size={16} aria-hidden />}
        label="Open"
        onSelect={() => void navigate({ to: '/sandboxes/$id', params })}
      />
      {status === 'running' && (
        <>
          <MenuItem
            icon={<SquareTerminal size={16} aria-hidden />}
            label="Terminal"
            onSelect={() => void navigate({ to: '/sandboxes/$id/terminal', params })}
          />
          <MenuSeparator />
          <MenuItem
            icon={<ClockPlus size={16} aria-hidden />}
            label="Extend…"
            onSelect={() => onAction('extend', sandbox)}
          />
          <MenuItem
            icon={<CopyPlus size={16} aria-hidden />}
            label="Fork…"
            onSelect={() => onAction('fork', sandbox)}
          />
          <MenuItem
            icon={<Camera size={16} aria-hidden />}
            label="Take a snapshot…"
            onSelect={() => onAction('snapshot', sandbox)}
          />
        </>
      )}
      {status !== 'deleted' && (
        <>
          <MenuSeparator />
          <MenuItem
            icon={<Trash2 size={16} aria-hidden />}
            label="Delete…"
            isDangerous
            onSelect={() => onAction('delete', sandbox)}
          />
        </>
      )}
    </Menu>
  );
}
