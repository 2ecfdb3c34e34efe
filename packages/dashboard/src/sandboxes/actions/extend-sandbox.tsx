import { defaultLimits, type Sandbox } from '@mayfly/contract';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { accountQuery } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { announce } from '../../parts/announcements.tsx';
import { formatDuration, formatTime } from '../../parts/duration.ts';
import { BulkDialog } from './bulk-dialog.tsx';
import { extensionOf, readMinutes } from './extension.ts';
import { MinutesField } from './minutes-field.tsx';
import { countOf } from './names.ts';

const minuteMs = 60_000;

interface ExtendSandboxProps {
  readonly sandbox: Sandbox;
  readonly onClose: () => void;
}

/** Lets a sandbox live longer. */
export function ExtendSandbox({ sandbox, onClose }: ExtendSandboxProps) {
  return <ExtendSandboxes sandboxes={[sandbox]} onClose={onClose} />;
}

interface ExtendSandboxesProps {
  readonly sandboxes: readonly Sandbox[];
  readonly onClose: () => void;
  /** Called when some were extended, before `onClose`. */
  readonly onExtended?: () => void;
}

/** Lets several sandboxes live longer, by the same time each. Those that are not running are left out. */
export function ExtendSandboxes({ sandboxes: chosen, onClose, onExtended }: ExtendSandboxesProps) {
  // The dialog keeps its rows while the sandboxes go on changing.
  const [sandboxes] = useState(() => chosen.filter(({ status }) => status === 'running'));
  const { data: account } = useQuery(accountQuery);
  const maxMinutes = account?.limits.max_timeout_minutes ?? defaultLimits.maxTimeoutMinutes;
  const [typed, setTyped] = useState(`${defaultLimits.defaultTimeoutMinutes}`);
  const minutes = readMinutes(typed, maxMinutes);
  const [only] = sandboxes;
  const isOne = sandboxes.length === 1;
  const extension = isOne && only && minutes !== undefined ? extensionOf(only, minutes, maxMinutes) : undefined;
  const skipped = chosen.length - sandboxes.length;
  return (
    <BulkDialog
      title={isOne ? 'Extend its lifetime' : `Extend ${countOf(sandboxes.length)}`}
      sandboxes={sandboxes}
      work={(id) =>
        request<Sandbox>(`/sandboxes/${id}/extend`, { method: 'POST', body: { additional_minutes: minutes } })
      }
      success="Extended"
      look="primary"
      action="Extend"
      keep="Cancel"
      isDisabled={minutes === undefined || sandboxes.length === 0}
      onSucceeded={(ids) => {
        announce(ids.length === 1 ? 'The sandbox lives longer.' : `${countOf(ids.length)} extended.`);
        onExtended?.();
      }}
      onClose={onClose}
    >
      <MinutesField
        label="How much longer"
        value={typed}
        maxMinutes={maxMinutes}
        onChange={setTyped}
        error={minutes === undefined ? `A whole number of minutes, 1 to ${maxMinutes}.` : undefined}
        hint={describeEnd(extension, maxMinutes)}
      />
      {skipped > 0 && (
        <p className="mt-3 text-sm text-soft">
          {countOf(skipped)} {skipped === 1 ? 'is' : 'are'} not running and left out.
        </p>
      )}
    </BulkDialog>
  );
}

function describeEnd(extension: ReturnType<typeof extensionOf>, maxMinutes: number): string {
  const cap = `at most ${formatDuration(maxMinutes * minuteMs)} after its creation`;
  if (extension === undefined) return `A sandbox can live for ${cap}.`;
  const end = `New end: ${formatTime(new Date(extension.endMs).toISOString())}`;
  return extension.isCapped ? `${end}, the latest possible: ${cap}.` : `${end}. It can live for ${cap}.`;
}
