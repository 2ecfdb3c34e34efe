import type { Sandbox } from '@mayfly/contract';

const minuteMs = 60_000;

/** What an extension comes to. */
export interface Extension {
  readonly endMs: number;
  /** Whether the maximum lifetime makes it shorter than asked for. */
  readonly isCapped: boolean;
}

/** Returns when a sandbox ends if it is extended; undefined if it has no end yet. `maxMinutes` count from its creation. */
export function extensionOf(
  { created_at, expires_at }: Pick<Sandbox, 'created_at' | 'expires_at'>,
  minutes: number,
  maxMinutes: number,
): Extension | undefined {
  if (expires_at === null) return undefined;
  const nowEndMs = Date.parse(expires_at);
  const lastMs = Math.max(nowEndMs, Date.parse(created_at) + maxMinutes * minuteMs);
  const wantedMs = nowEndMs + minutes * minuteMs;
  return { endMs: Math.min(wantedMs, lastMs), isCapped: wantedMs > lastMs };
}

/** Reads a number of minutes that somebody typed; undefined if it is not a whole number from 1 to `maxMinutes`. */
export function readMinutes(text: string, maxMinutes: number): number | undefined {
  const trimmed = text.trim();
  if (!/^\d{1,6}$/.test(trimmed)) return undefined;
  const minutes = Number(trimmed);
  return minutes >= 1 && minutes <= maxMinutes ? minutes : undefined;
}
