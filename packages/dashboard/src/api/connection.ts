import { useSyncExternalStore } from 'react';

/** Whether the service answers. Requests report it; nothing is sent to find out until one failed. */
let isLost = false;
const listeners = new Set<() => void>();

export function noteAnswer(): void {
  change(false);
}

export function noteLostConnection(): void {
  change(true);
}

function change(next: boolean): void {
  if (isLost === next) return;
  isLost = next;
  for (const listener of listeners) listener();
}

export function useIsConnectionLost(): boolean {
  return useSyncExternalStore(onChange, () => isLost);
}

function onChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const firstRetryMs = 2_000;
const longestRetryMs = 30_000;

/** How long to wait before the attempt after `failures` failed ones. */
export function retryDelayMs(failures: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** failures);
}
