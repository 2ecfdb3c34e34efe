import { type UsageDays, type UsageItem, usageItems } from '@mayfly/contract/dashboard';
import { type KeyboardEvent, type PointerEvent, useId, useMemo, useState } from 'react';
import { formatDay, formatLongDay, formatMeasure, formatTick, itemLabels } from './format.ts';
import type { Measure } from './period.ts';
import { type Bar, barsOf, columnAt, columnForKey, labelledColumns, type PlotSize, ticksOf } from './plot.ts';
import { type Column, columnsOf, type Part, partsOf, sumOf } from './series.ts';
import { useWidth } from './use-width.ts';

const plotHeight = 230;
const axisWidth = 50;
const dateHeight = 26;

const fills: Readonly<Record<UsageItem, string>> = {
  small: 'fill-chart-small',
  medium: 'fill-chart-medium',
  large: 'fill-chart-large',
  unknown: 'fill-chart-unknown',
  storage: 'fill-chart-storage',
};

const dots: Readonly<Record<UsageItem, string>> = {
  small: 'bg-chart-small',
  medium: 'bg-chart-medium',
  large: 'bg-chart-large',
  unknown: 'bg-chart-unknown',
  storage: 'bg-chart-storage',
};

interface ChartProps {
  readonly usage: UsageDays;
  readonly measure: Measure;
}

/** Bars by day, stacked by size. The line above them is of the whole period, or of the day that the pointer or the keyboard is at. */
export function Chart({ usage, measure }: ChartProps) {
  const columns = useMemo(() => columnsOf(usage, measure), [usage, measure]);
  const all = useMemo(() => partsOf(usage.data, measure), [usage, measure]);
  const [chosen, setChosen] = useState<number>();
  const [ref, width] = useWidth();
  const id = useId();
  const day = chosen === undefined ? undefined : columns[chosen];
  const today = columns.length - 1;
  const current = day === undefined ? today : (chosen ?? today);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return setChosen(undefined);
    const next = columnForKey(event.key, current, columns.length);
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setChosen(next);
  };
  const onPointer = (event: PointerEvent) => {
    const { left } = event.currentTarget.getBoundingClientRect();
    setChosen(columnAt(event.clientX - left - axisWidth, columns.length, width - axisWidth));
  };

  return (
    <figure aria-labelledby={id} className="m-0">
      <figcaption id={id} className="sr-only">
        {measure === 'cost' ? 'Spending' : 'Runtime'} by day
      </figcaption>
      <ReadOut
        title={day ? formatLongDay(day.date) : `Last ${columns.length} days`}
        parts={day ? day.parts : all}
        items={all.map(({ item }) => item)}
        measure={measure}
      />
      <div
        ref={ref}
        role="slider"
        tabIndex={0}
        aria-label="Day"
        aria-valuemin={1}
        aria-valuemax={columns.length}
        aria-valuenow={current + 1}
        aria-valuetext={describeColumn(columns[current], measure)}
        onKeyDown={onKeyDown}
        onFocus={(event) => event.currentTarget.matches(':focus-visible') && setChosen(current)}
        onBlur={() => setChosen(undefined)}
        onPointerMove={onPointer}
        onPointerDown={onPointer}
        onPointerLeave={() => setChosen(undefined)}
        className="mt-6 touch-pan-y select-none focus-visible:rounded-md focus-visible:outline-offset-10"
        style={{ height: plotHeight + dateHeight }}
      >
        {width > 0 && <Plot columns={columns} measure={measure} chosen={chosen} width={width} />}
      </div>
    </figure>
  );
}

interface ReadOutProps {
  readonly title: string;
  readonly parts: readonly Part[];
  /** What has an entry, whether it is in the parts or not, so that nothing jumps. */
  readonly items: readonly UsageItem[];
  readonly measure: Measure;
}

/** The sum and what it consists of: the key to the colours as well. */
function ReadOut({ title, parts, items, measure }: ReadOutProps) {
  return (
    <div className="flex flex-wrap items-end justify-between gap-x-8 gap-y-3">
      <div>
        <p className="text-sm text-soft">{title}</p>
        <p className="text-xl font-semibold tabular-nums">{formatMeasure(sumOf(parts), measure)}</p>
      </div>
      <ul className="flex flex-wrap gap-x-5 gap-y-1.5 text-sm">
        {items.map((item) => (
          <li key={item} className="flex items-center gap-2">
            <span aria-hidden className={`size-2.5 rounded-[3px] ${dots[item]}`} />
            <span className="text-soft">{itemLabels[item]}</span>
            <span className="min-w-13 tabular-nums">
              {formatMeasure(parts.find((part) => part.item === item)?.value ?? 0, measure)}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface PlotProps {
  readonly columns: readonly Column[];
  readonly measure: Measure;
  readonly chosen: number | undefined;
  readonly width: number;
}

function Plot({ columns, measure, chosen, width }: PlotProps) {
  const size: PlotSize = { width: width - axisWidth, height: plotHeight };
  const ticks = ticksOf(Math.max(...columns.map(({ total }) => total)));
  const max = ticks.at(-1) ?? 1;
  const slot = size.width / columns.length;
  const isEmpty = columns.every(({ total }) => total === 0);
  return (
    <svg aria-hidden width={width} height={plotHeight + dateHeight} className="block overflow-visible text-[0.75rem]">
      {(isEmpty ? [0] : ticks).map((tick) => {
        const y = plotHeight - (tick / max) * plotHeight;
        return (
          <g key={tick}>
            <line x1={axisWidth} x2={width} y1={y} y2={y} className={tick === 0 ? 'stroke-edge' : 'stroke-line'} />
            <text x={axisWidth - 10} y={y} dy="0.32em" textAnchor="end" className="fill-soft tabular-nums">
              {formatTick(tick, ticks, measure)}
            </text>
          </g>
        );
      })}
      {isEmpty && (
        <text
          x={axisWidth + size.width / 2}
          y={plotHeight / 2}
          dy="-0.8em"
          textAnchor="middle"
          className="fill-soft text-sm"
        >
          Nothing in these days.
        </text>
      )}
      <g transform={`translate(${axisWidth} 0)`}>
        {chosen !== undefined && (
          <rect x={slot * chosen} y={0} width={slot} height={plotHeight} rx={4} className="fill-tint" />
        )}
        {columns.map((column, index) => (
          <g key={column.date} className={chosen === undefined || chosen === index ? '' : 'opacity-55'}>
            {barsOf(column, { index, count: columns.length, max, size }).map((bar) => (
              <path key={bar.item} d={outlineOf(bar)} className={`${fills[bar.item]} stroke-page`} />
            ))}
          </g>
        ))}
        {labelledColumns(columns.length, size.width).map((index) => (
          <text
            key={index}
            x={slot * (index + 0.5)}
            y={plotHeight + 19}
            textAnchor="middle"
            className={index === chosen ? 'fill-ink' : 'fill-soft'}
          >
            {formatDay(columns[index]?.date ?? '')}
          </text>
        ))}
      </g>
    </svg>
  );
}

/** A rectangle, with round corners if nothing is on top of it. */
function outlineOf({ x, y, width, height, isTop }: Bar): string {
  const radius = isTop ? Math.min(3, width / 2, height) : 0;
  return `M${x} ${y + height}V${y + radius}q0 ${-radius} ${radius} ${-radius}h${width - 2 * radius}q${radius} 0 ${radius} ${radius}V${y + height}z`;
}

/** A day in words, as a screen reader says it. */
function describeColumn(column: Column | undefined, measure: Measure): string {
  if (!column) return '';
  const parts = usageItems.flatMap((item) => {
    const part = column.parts.find((one) => one.item === item);
    return part ? [`${itemLabels[item]} ${formatMeasure(part.value, measure)}`] : [];
  });
  const detail = parts.length > 1 ? ` (${parts.join(', ')})` : '';
  return `${formatLongDay(column.date)}: ${formatMeasure(column.total, measure)}${detail}`;
}
