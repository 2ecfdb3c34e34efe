import type { Sandbox } from '@mayfly/contract';
import { Camera, ClockPlus, CopyPlus, Ellipsis, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button, buttonClass } from '../parts/button.tsx';
import { Menu, MenuItem, MenuSeparator } from '../parts/menu.tsx';
import { DeleteSandboxes } from '../sandboxes/actions/delete-sandboxes.tsx';
import { ExtendSandbox } from '../sandboxes/actions/extend-sandbox.tsx';
import { ForkSandbox } from '../sandboxes/actions/fork-sandbox.tsx';
import { TakeSnapshot } from '../sandboxes/actions/take-snapshot.tsx';

type Action = 'extend' | 'snapshot' | 'fork' | 'delete';

const icons: Readonly<Record<Action, ReactNode>> = {
  extend: <ClockPlus size={16} aria-hidden />,
  snapshot: <Camera size={16} aria-hidden />,
  fork: <CopyPlus size={16} aria-hidden />,
  delete: <Trash2 size={16} aria-hidden />,
};

const labels: Readonly<Record<Action, string>> = {
  extend: 'Extend',
  snapshot: 'Snapshot',
  fork: 'Fork',
  delete: 'Delete',
};

/** Returns what can be done with a sandbox of this status, in the order in which it is shown. */
function actionsFor(status: Sandbox['status']): readonly Action[] {
  if (status === 'running') return ['extend', 'snapshot', 'fork', 'delete'];
  return status === 'deleted' || status === 'deleting' ? [] : ['delete'];
}

/** Buttons, or a menu on narrow screens. */
export function Actions({ sandbox }: { readonly sandbox: Sandbox }) {
  const [chosen, setChosen] = useState<Action>();
  const actions = actionsFor(sandbox.status);
  const close = () => setChosen(undefined);
  return (
    <>
      {actions.length > 0 && (
        <>
          <div className="hidden gap-2 pt-1 md:flex">
            {actions.map((action) => (
              <Button
                key={action}
                look={action === 'delete' ? 'danger' : 'plain'}
                icon={icons[action]}
                onClick={() => setChosen(action)}
              >
                {labels[action]}
              </Button>
            ))}
          </div>
          <div className="md:hidden">
            <Menu
              label="Actions"
              trigger={<Ellipsis size={18} aria-hidden />}
              triggerClass={buttonClass('plain', '!px-2.5')}
            >
              {actions.map((action) => (
                <div key={action} role="none">
                  {action === 'delete' && actions.length > 1 && <MenuSeparator />}
                  <MenuItem
                    icon={icons[action]}
                    label={`${labels[action]}…`}
                    isDangerous={action === 'delete'}
                    onSelect={() => setChosen(action)}
                  />
                </div>
              ))}
            </Menu>
          </div>
        </>
      )}
      {chosen === 'extend' && <ExtendSandbox sandbox={sandbox} onClose={close} />}
      {chosen === 'snapshot' && <TakeSnapshot sandbox={sandbox} onClose={close} />}
      {chosen === 'fork' && <ForkSandbox sandbox={sandbox} onClose={close} />}
      {chosen === 'delete' && <DeleteSandboxes sandboxes={[sandbox]} onClose={close} />}
    </>
  );
}
