import type { KeyboardEvent, PointerEvent, ReactNode } from 'react';
import { serverNowMs } from '../../api/server-clock.ts';
import { formatDuration } from '../../parts/duration.ts';
import { type Frame, height, nearest, pathsOf, width } from './path.ts';
import { type Point, summarize } from './samples.ts';

interface Series {
  readonly name: string;
  readonly points: readonly Point[];
  readonly colour: 'accent' | 'second';
}

/** A second line differs by colour and by dashes. What is read has more contrast than what is drawn. */
const colours = {
  accent: { text: 'text-accent', mark: 'text-accent', dash: undefined },
  second: { text: 'text-amber', mark: 'text-amber-mark', dash: '5 3' },
} as const;

interface ChartProps {
  readonly title: string;
  readonly series: readonly Series[];
  readonly frame: Frame;
  readonly format: (value: number) => string;
  /** Beside the current value: "of 4 GiB". */
  readonly note?: ReactNode;
  /** The time that is pointed at, in this chart or another one. */
  readonly cursorMs: number | undefined;
  readonly onCursor: (atMs: number | undefined) => void;
}

/** An area over the last minutes. The pointer and the arrow keys read single values out of it. */
export function Chart({ title, series, frame, format, note, cursorMs, onCursor }: ChartProps) {
  const times = series[0]?.points ?? [];
  const pointed = cursorMs === undefined ? undefined : nearest(times, cursorMs);
  const place = pointed && placeIn(frame, pointed.atMs);
  const read = (points: readonly Point[]) =>
    (pointed ? points.find(({ atMs }) => atMs === pointed.atMs) : points.at(-1))?.value ?? null;
  const latestMs = times.at(-1)?.atMs ?? frame.toMs;
  const spoken = series.map(({ name, points }) => `${name} ${describe(read(points), format)}`).join(', ');

  const onPointer = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width: shownWidth } = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - left) / shownWidth;
    onCursor(frame.fromMs + share * (frame.toMs - frame.fromMs));
  };
  const onKey = (event: KeyboardEvent) => {
    const next = nextTime(times, pointed, event.key);
    if (next === undefined) return;
    event.preventDefault();
    onCursor(next);
  };
  return (
    <figure className="min-w-0 rounded-lg border border-line p-4 pb-3">
      <figcaption className="flex flex-wrap items-baseline justify-between gap-x-4">
        <span className="text-sm font-medium">{title}</span>
        <span className="flex flex-wrap items-baseline gap-x-3 tabular-nums">
          {series.map(({ name, points, colour }) => (
            <span key={name} className="whitespace-nowrap">
              {series.length > 1 && <span className={`mr-1.5 text-[0.8rem] ${colours[colour].text}`}>{name}</span>}
              <span className="font-semibold">{describe(read(points), format)}</span>
            </span>
          ))}
          {note !== undefined && <span className="text-[0.8rem] whitespace-nowrap text-soft">{note}</span>}
        </span>
      </figcaption>
      <div
        role="slider"
        tabIndex={0}
        aria-label={`${title}, the last minutes`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={pointed ? times.indexOf(pointed) : Math.max(0, times.length - 1)}
        aria-valuetext={`${ago((pointed ?? { atMs: latestMs }).atMs)}: ${spoken}`}
        onPointerMove={onPointer}
        onPointerDown={onPointer}
        onPointerLeave={() => onCursor(undefined)}
        onKeyDown={onKey}
        onBlur={() => onCursor(undefined)}
        className="relative mt-6 h-24 touch-pan-y rounded-sm border-line border-b"
      >
        <svg
          aria-hidden="true"
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          className="absolute inset-0 size-full overflow-hidden"
        >
          <path
            d={`M0 .5H${width}M0 ${height / 2}H${width}`}
            className="text-line"
            stroke="currentColor"
            vectorEffect="non-scaling-stroke"
          />
          {series.map(({ name, points, colour }) => {
            const { line, area } = pathsOf(points, frame);
            const { mark, dash } = colours[colour];
            return (
              <g key={name} className={mark}>
                <path d={area} fill="currentColor" opacity={series.length > 1 ? 0.09 : 0.14} />
                <path
                  d={line}
                  fill="none"
                  stroke="currentColor"
                  strokeWidth="1.75"
                  strokeLinejoin="round"
                  vectorEffect="non-scaling-stroke"
                  strokeDasharray={dash}
                />
              </g>
            );
          })}
        </svg>
        <span className="absolute -top-5 left-0 text-[0.7rem] leading-4 text-soft tabular-nums">
          {format(frame.most)}
        </span>
        {pointed && place !== undefined && (
          <>
            <span aria-hidden className="absolute inset-y-0 w-px bg-soft" style={{ left: `${place}%` }} />
            {series.map(({ name, points, colour }) => {
              const value = read(points);
              if (value === null) return null;
              const top = (1 - Math.min(value, frame.most) / frame.most) * 100;
              return (
                <span
                  key={name}
                  aria-hidden
                  className={`absolute -mt-1 -ml-1 size-2 rounded-full bg-current ring-2 ring-page ${colours[colour].mark}`}
                  style={{ left: `${place}%`, top: `${top}%` }}
                />
              );
            })}
          </>
        )}
      </div>
      <div aria-hidden className="mt-1 flex justify-between text-[0.7rem] text-soft tabular-nums">
        <span>{formatDuration(frame.toMs - frame.fromMs)} ago</span>
        {pointed && <span className="font-medium text-ink">{ago(pointed.atMs)}</span>}
        <span>now</span>
      </div>
      <p className="sr-only">{series.map((one) => describeSeries(one, format)).join(' ')}</p>
    </figure>
  );
}

function placeIn({ fromMs, toMs }: Frame, atMs: number): number | undefined {
  const share = (atMs - fromMs) / (toMs - fromMs);
  return share < 0 || share > 1 ? undefined : share * 100;
}

function describe(value: number | null, format: (value: number) => string): string {
  return value === null ? '–' : format(value);
}

function describeSeries({ name, points }: Series, format: (value: number) => string): string {
  const summary = summarize(points);
  if (!summary) return `${name}: nothing measured yet.`;
  const { latest, least, most } = summary;
  return `${name}: now ${describe(latest, format)}, between ${format(least)} and ${format(most)} in the last minutes.`;
}

function ago(atMs: number): string {
  return `${formatDuration(serverNowMs() - atMs)} ago`;
}

/** Returns the time that a key moves the cursor to; undefined for keys that do not move it. */
function nextTime(times: readonly Point[], pointed: Point | undefined, key: string): number | undefined {
  const index = pointed ? times.indexOf(pointed) : times.length - 1;
  if (key === 'Home') return times[0]?.atMs;
  if (key === 'End') return times.at(-1)?.atMs;
  const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10 }[key];
  if (steps === undefined) return undefined;
  return times[Math.max(0, Math.min(times.length - 1, index + steps))]?.atMs;
}
