import { formatBytes } from '@mayfly/contract';
import type { AccountLimitsInUse, Quota, RateWindow } from '@mayfly/contract/dashboard';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { Button } from '../parts/button.tsx';
import { formatDuration } from '../parts/duration.ts';
import { ErrorNotice } from '../parts/notice.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { useNow } from '../parts/use-now.ts';
import { limitsQuery } from './queries.ts';
import { type Fullness, fullnessOf, windowAfter } from './windows.ts';

const count = (value: number) => value.toLocaleString('en-US');

const quotas: readonly {
  readonly key: keyof AccountLimitsInUse['quotas'];
  readonly label: string;
  readonly format: (value: number) => string;
  readonly hint?: string;
}[] = [
  { key: 'concurrent_sandboxes', label: 'Sandboxes at once', format: count },
  { key: 'snapshots', label: 'Snapshots', format: count },
  { key: 'snapshot_bytes', label: 'Disk space of snapshots', format: formatBytes },
  { key: 'api_keys', label: 'Active API keys', format: count },
  { key: 'terminals', label: 'Open terminals', format: count },
  { key: 'streams', label: 'Open streams', format: count },
  {
    key: 'stored_output_bytes',
    label: 'Stored output',
    format: formatBytes,
    hint: 'Beyond it, the oldest is dropped.',
  },
];

const windows: readonly { readonly key: keyof AccountLimitsInUse['windows']; readonly label: string }[] = [
  { key: 'requests', label: 'Requests with API keys' },
  { key: 'creations', label: 'Sandboxes created' },
  { key: 'dashboard_requests', label: 'Requests of this dashboard' },
];

/** What the account may have and do, and how much of it is used. */
export function LimitsSection() {
  const limits = useQuery(limitsQuery);
  const isSlow = useDelayed(limits.isPending);
  const id = useId();
  return (
    <section aria-labelledby={id} className="mt-14">
      <h2 id={id} className="text-lg font-semibold">
        Limits
      </h2>
      <p className="mt-1 mb-5 max-w-2xl text-soft">The operator of the service can change most of them.</p>
      {limits.isPending && isSlow && (
        <div role="status" className="skeleton h-64 animate-breathe rounded-xl bg-panel">
          <span className="sr-only">Loading</span>
        </div>
      )}
      {limits.isError && !limits.data && (
        <ErrorNotice error={limits.error} action={<Button onClick={() => void limits.refetch()}>Try again</Button>} />
      )}
      {limits.data && (
        <div className="grid animate-appear items-start gap-5 md:grid-cols-2">
          <Card title="In use now">
            {quotas.map(({ key, label, format, hint }) => (
              <QuotaMeter key={key} label={label} quota={limits.data.quotas[key]} format={format} hint={hint} />
            ))}
          </Card>
          <div className="grid gap-5">
            <Card title="This minute">
              {windows.map(({ key, label }) => (
                <WindowMeter
                  key={key}
                  label={label}
                  window={limits.data.windows[key]}
                  readAtMs={limits.dataUpdatedAt}
                />
              ))}
            </Card>
            <PerSandbox limits={limits.data.per_sandbox} />
          </div>
        </div>
      )}
    </section>
  );
}

function Card({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="rounded-xl border border-line p-5 md:p-6">
      <h3 className="mb-4 text-sm font-semibold">{title}</h3>
      <div className="grid gap-4">{children}</div>
    </div>
  );
}

interface QuotaMeterProps {
  readonly label: string;
  readonly quota: Quota;
  readonly format: (value: number) => string;
  readonly hint?: string | undefined;
}

function QuotaMeter({ label, quota: { used, limit }, format, hint }: QuotaMeterProps) {
  return (
    <Meter label={label} used={used} limit={limit} text={`${format(used)} of ${format(limit)}`}>
      {hint !== undefined && <p className="mt-1 text-[0.8rem] text-soft">{hint}</p>}
    </Meter>
  );
}

interface WindowMeterProps {
  readonly label: string;
  readonly window: RateWindow;
  readonly readAtMs: number;
}

function WindowMeter({ label, window, readAtMs }: WindowMeterProps) {
  // The seconds tick with the rest of the page; how many have passed is a matter of this clock alone.
  useNow();
  const { used, limit, resetsInSeconds } = windowAfter(window, Date.now() - readAtMs);
  const reset = resetsInSeconds !== undefined && used > 0 ? `resets in ${resetsInSeconds} s` : '';
  return (
    <Meter label={label} used={used} limit={limit} text={`${count(used)} of ${count(limit)}`}>
      <p className="mt-1 min-h-5 text-[0.8rem] text-soft tabular-nums">{reset}</p>
    </Meter>
  );
}

const fills: Readonly<Record<Fullness, string>> = { free: 'bg-accent', near: 'bg-amber-mark', full: 'bg-red-mark' };

interface MeterProps {
  readonly label: string;
  readonly used: number;
  readonly limit: number;
  readonly text: string;
  readonly children?: ReactNode;
}

function Meter({ label, used, limit, text, children }: MeterProps) {
  const fraction = limit > 0 ? Math.min(1, used / limit) : 1;
  return (
    <div>
      <div className="mb-1.5 flex items-baseline justify-between gap-4 text-sm">
        <span>{label}</span>
        <span className="whitespace-nowrap text-soft tabular-nums">{text}</span>
      </div>
      <div aria-hidden className="h-1.5 overflow-hidden rounded-full bg-line">
        <div
          className={`h-full rounded-full transition-[width] duration-300 ${used > 0 ? 'min-w-1' : ''} ${fills[fullnessOf(used, limit)]}`}
          style={{ width: `${fraction * 100}%` }}
        />
      </div>
      {children}
    </div>
  );
}

function PerSandbox({ limits }: { readonly limits: AccountLimitsInUse['per_sandbox'] }) {
  const facts = [
    ['Longest lifetime', formatDuration(limits.max_timeout_minutes * 60_000)],
    ['Commands in the background', count(limits.background_commands)],
    ['Terminals', count(limits.terminals)],
    ['Streams', count(limits.streams)],
    ['Largest file in a request', formatBytes(limits.file_bytes)],
  ] as const;
  return (
    <div className="rounded-xl border border-line p-5 md:p-6">
      <h3 className="mb-3 text-sm font-semibold">For each sandbox</h3>
      <dl className="grid gap-2 text-sm">
        {facts.map(([label, value]) => (
          <div key={label} className="flex justify-between gap-4">
            <dt>{label}</dt>
            <dd className="text-soft tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
