import type { UsageDays } from '@mayfly/contract/dashboard';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { useId } from 'react';
import { Button } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Page } from '../parts/page.tsx';
import { Segments } from '../parts/segments.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { Chart } from './chart.tsx';
import { usageCsv } from './csv.ts';
import { formatUsd } from './format.ts';
import { LimitsSection } from './limits-section.tsx';
import { burnPerHour, describeLasting, describeRunning } from './outlook.ts';
import { type Measure, measures, type Period, periods, searchFor } from './period.ts';
import { usageQuery } from './queries.ts';
import { saveAs } from './save-as.ts';
import { UsageTable } from './usage-table.tsx';

const measureLabels: Readonly<Record<Measure, string>> = { cost: 'Spending', runtime: 'Runtime' };

export function UsagePage() {
  const { days = 30, show = 'cost' } = useSearch({ from: '/signed-in/usage' });
  const usage = useQuery(usageQuery(days));
  const isSlow = useDelayed(usage.isPending);
  return (
    <Page title="Usage" description="What this account spends, and how much of its limits it uses.">
      {usage.isPending && isSlow && <UsageSkeleton />}
      {usage.isError && !usage.data && (
        <ErrorNotice error={usage.error} action={<Button onClick={() => void usage.refetch()}>Try again</Button>} />
      )}
      {usage.data && (
        <>
          <Outlook usage={usage.data} />
          <History usage={usage.data} days={days} measure={show} isStale={usage.isPlaceholderData} />
        </>
      )}
      <LimitsSection />
    </Page>
  );
}

/** The balance, what is spent now, and how long that can go on. */
function Outlook({ usage }: { readonly usage: UsageDays }) {
  const { balance_usd: balance, running, storage_usd_per_hour: storage } = usage;
  const burn = burnPerHour(usage);
  const lasting = describeLasting(balance, burn);
  const causes = [describeRunning(running), storage > 0 ? 'stored snapshots' : ''].filter(Boolean);
  return (
    <dl className="grid animate-appear overflow-hidden rounded-xl border border-line sm:grid-cols-3">
      <Figure label="Balance" value={formatUsd(balance)} detail="with everything until now deducted" />
      <Figure
        label="Spending now"
        value={burn > 0 ? `${formatUsd(burn)} per hour` : 'Nothing'}
        detail={causes.join(' and ') || 'no sandbox is running'}
      />
      <Figure
        label="The balance lasts"
        value={lasting ?? 'Indefinitely'}
        detail={lasting === undefined ? 'nothing costs anything now' : 'if what runs now keeps running'}
      />
    </dl>
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly detail: string;
}

function Figure({ label, value, detail }: FigureProps) {
  return (
    <div className="grid grid-cols-[1fr_auto] items-baseline gap-x-4 border-line px-4 py-3 not-first:border-t sm:block sm:px-6 sm:py-5 sm:not-first:border-t-0 sm:not-first:border-l">
      <dt className="text-[0.8rem] text-soft">{label}</dt>
      <dd className="text-base font-semibold tracking-[-0.01em] tabular-nums sm:mt-0.5 sm:text-xl lg:text-2xl">
        {value}
      </dd>
      <dd className="col-span-2 text-right text-[0.8rem] text-soft sm:mt-0.5 sm:text-left sm:text-sm">{detail}</dd>
    </div>
  );
}

interface HistoryProps {
  readonly usage: UsageDays;
  readonly days: Period;
  readonly measure: Measure;
  /** Another period is being loaded. */
  readonly isStale: boolean;
}

/** Spending or runtime by day, as a chart, as a table and as a file. */
function History({ usage, days, measure, isStale }: HistoryProps) {
  const navigate = useNavigate();
  const isDimmed = useDelayed(isStale);
  const id = useId();
  const choose = (period: Period, show: Measure) =>
    void navigate({ to: '/usage', search: searchFor(period, show), replace: true, resetScroll: false });
  const name = `mayfly-usage-${usage.first_date}-${usage.last_date}.csv`;
  return (
    <section aria-labelledby={id} className="mt-10">
      <div className="mb-5 flex flex-wrap items-center gap-3">
        <h2 id={id} className="mr-auto text-lg font-semibold">
          By day
        </h2>
        <Segments
          label="What the chart shows"
          value={measure}
          options={measures.map((value) => ({ value, label: measureLabels[value] }))}
          onChoose={(show) => choose(days, show)}
        />
        <Segments
          label="The period"
          value={`${days}`}
          options={periods.map((period) => ({ value: `${period}`, label: `${period} days` }))}
          onChoose={(value) => choose(periods.find((period) => `${period}` === value) ?? 30, measure)}
        />
      </div>
      <div
        aria-busy={isStale || undefined}
        className={`rounded-xl border border-line p-4 transition-opacity md:p-6 ${isDimmed ? 'opacity-50' : ''}`}
      >
        <Chart usage={usage} measure={measure} />
      </div>
      <div className="mt-3 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <p className="max-w-xl text-sm text-soft">
          Days are of UTC. What runs over midnight has a part on both days; what runs now is included until now.
        </p>
        <Button
          icon={<Download size={16} aria-hidden />}
          disabled={usage.data.length === 0}
          onClick={() => saveAs(name, 'text/csv', usageCsv(usage))}
        >
          Download as CSV
        </Button>
      </div>
      <UsageTable usage={usage} />
    </section>
  );
}

/** Stands for the figures and the chart while they are loaded. */
function UsageSkeleton() {
  return (
    <div role="status" className="animate-appear">
      <span className="sr-only">Loading</span>
      <div className="skeleton h-26 rounded-xl border border-line" />
      <div className="mt-24 h-72 animate-breathe rounded-xl bg-panel" />
    </div>
  );
}
