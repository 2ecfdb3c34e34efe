const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A length of time in its two largest units, rounded down: "42 s", "8 min", "1 h 20 min", "3 days". */
export function formatDuration(lengthMs: number): string {
  const ms = Math.max(0, lengthMs);
  if (ms < minuteMs) return `${Math.floor(ms / 1000)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms >= 2 * dayMs) return `${Math.floor(ms / dayMs)} days`;
  const minutes = Math.floor((ms % hourMs) / minuteMs);
  return `${Math.floor(ms / hourMs)} h${minutes === 0 ? '' : ` ${minutes} min`}`;
}

/** How long ago something was, in its largest unit: "just now", "8 min ago", "2 h ago". */
export function formatAgo(sinceMs: number): string {
  if (sinceMs < 10_000) return 'just now';
  const isHours = sinceMs >= hourMs && sinceMs < 2 * dayMs;
  return `${formatDuration(isHours ? sinceMs - (sinceMs % hourMs) : sinceMs)} ago`;
}

const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** A time in the reader's time zone: "2 Jan 2026, 03:04:05". */
export function formatTime(iso: string): string {
  return exact.format(new Date(iso));
}
