import type { Sandbox } from '@mayfly/contract';
import { formatDuration, formatTime } from '../parts/duration.ts';
import { timeLeft } from './lifetime.ts';

/** Below this share the bar warns, and below the next one it does so in red. */
const shortFraction = 0.25;
const lastFraction = 0.08;

/** The lifetime of a running sandbox as a bar that shrinks, and in words. */
export function TimeLeftBar({ sandbox, nowMs }: { readonly sandbox: Sandbox; readonly nowMs: number }) {
  const left = timeLeft(sandbox, nowMs);
  if (left === undefined || sandbox.expires_at === null) return <span className="text-soft">–</span>;
  const { leftMs, fraction } = left;
  const text = formatDuration(leftMs);
  const colour = fraction < lastFraction ? 'bg-red-mark' : fraction < shortFraction ? 'bg-amber-mark' : 'bg-accent';
  return (
    <div className="flex items-center gap-3" title={`Expires ${formatTime(sandbox.expires_at)}`}>
      <div aria-hidden className="h-1.5 w-full min-w-12 max-w-40 overflow-hidden rounded-full bg-line">
        <div
          className={`h-full min-w-0.5 rounded-full transition-[width,background-color] duration-1000 ease-linear ${colour}`}
          style={{ width: `${fraction * 100}%` }}
        />
      </div>
      <span className="w-19 shrink-0 text-sm whitespace-nowrap tabular-nums">{text}</span>
    </div>
  );
}
