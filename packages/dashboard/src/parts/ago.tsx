import { formatAgo, formatTime } from './duration.ts';
import { useNow } from './use-now.ts';

/** How long ago something was; the exact time is a tooltip. */
export function Ago({ at }: { readonly at: string }) {
  const nowMs = useNow();
  return (
    <time dateTime={at} title={formatTime(at)} className="whitespace-nowrap tabular-nums">
      {formatAgo(nowMs - Date.parse(at))}
    </time>
  );
}
