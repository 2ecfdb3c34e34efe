import { formatBytes, type Sandbox } from '@mayfly/contract';
import { useState } from 'react';
import { formatDuration } from '../../parts/duration.ts';
import { ErrorNotice } from '../../parts/notice.tsx';
import { Chart } from './chart.tsx';
import { axisEnd, type Frame } from './path.ts';
import { levels, rates, type Sample, shownMs } from './samples.ts';
import { useStats } from './use-stats.ts';

const percent = (value: number) => `${value < 9.95 ? value.toFixed(1).replace(/\.0$/, '') : Math.round(value)} %`;
const formatRate = (bytesPerSecond: number) => `${formatBytes(Math.round(bytesPerSecond))}/s`;

/** What a running sandbox uses, over the last minutes. */
export function Charts({ sandbox: { id } }: { readonly sandbox: Sandbox }) {
  const { samples, state, error } = useStats(id);
  const [cursorMs, setCursorMs] = useState<number>();
  const latest = samples.at(-1);
  const toMs = latest?.atMs ?? Date.now();
  const frameOf = (most: number): Frame => ({ fromMs: toMs - shownMs, toMs, most: Math.max(1, most) });
  const cpu = levels(samples, ({ cpuPercent }) => cpuPercent);
  const memory = levels(samples, ({ memoryBytes }) => memoryBytes);
  const disk = levels(samples, ({ diskBytes }) => diskBytes);
  const received = rates(samples, ({ receivedBytes }) => receivedBytes);
  const sent = rates(samples, ({ sentBytes }) => sentBytes);
  const mostTraffic = Math.max(0, ...[...received, ...sent].flatMap(({ value }) => value ?? []));
  const shared = { cursorMs, onCursor: setCursorMs };
  return (
    <section aria-labelledby="usage" {...(latest === undefined && error === undefined && { 'aria-busy': true })}>
      <div className="mb-3 flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <h2 id="usage" className="text-base font-semibold">
          What it uses
        </h2>
        <p className="text-sm text-soft tabular-nums">
          <State state={state} latest={latest} />
        </p>
      </div>
      {error !== undefined && (
        <div className="mb-3">
          <ErrorNotice error={error} />
        </div>
      )}
      <div className="grid gap-3 sm:grid-cols-2">
        <Chart
          {...shared}
          title="CPU"
          series={[{ name: 'CPU', points: cpu, colour: 'accent' }]}
          frame={frameOf(100)}
          format={percent}
        />
        <Chart
          {...shared}
          title="Memory"
          series={[{ name: 'Memory', points: memory, colour: 'accent' }]}
          frame={frameOf(latest?.memoryTotalBytes ?? 1)}
          format={formatBytes}
          note={latest && `of ${formatBytes(latest.memoryTotalBytes)}`}
        />
        <Chart
          {...shared}
          title="Network"
          series={[
            { name: 'in', points: received, colour: 'accent' },
            { name: 'out', points: sent, colour: 'second' },
          ]}
          frame={frameOf(axisEnd(mostTraffic))}
          format={formatRate}
        />
        <Chart
          {...shared}
          title="Disk"
          series={[{ name: 'Disk', points: disk, colour: 'accent' }]}
          frame={frameOf(latest?.diskTotalBytes ?? 1)}
          format={formatBytes}
          note={latest && `of ${formatBytes(latest.diskTotalBytes)}`}
        />
      </div>
    </section>
  );
}

function State({
  state,
  latest,
}: {
  readonly state: 'connecting' | 'live' | 'lost';
  readonly latest: Sample | undefined;
}) {
  if (state === 'lost') return 'The connection was lost. Reconnecting …';
  if (!latest) return 'Measuring …';
  const { processes, uptimeMs } = latest;
  return `${processes} ${processes === 1 ? 'process' : 'processes'}, up for ${formatDuration(uptimeMs)}`;
}
