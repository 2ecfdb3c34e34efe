import { useSyncExternalStore } from 'react';

/** How terminals look in this browser. */
export interface Preferences {
  readonly fontSizePx: number;
  readonly isForScreenReaders: boolean;
}

export const fontSizesPx = { min: 9, usual: 14, max: 26 } as const;

const storageKey = 'mayfly-terminal';
const listeners = new Set<() => void>();
let current: Preferences | undefined;

/** Returns preferences from what was stored, which may be of another version or anything else. */
export function parsePreferences(text: string | null): Preferences {
  let stored: Record<string, unknown> = {};
  try {
    stored = { ...(JSON.parse(text ?? '') as object) };
  } catch {
    // The usual ones then.
  }
  const { fontSizePx, isForScreenReaders } = stored;
  const size = typeof fontSizePx === 'number' && Number.isInteger(fontSizePx) ? fontSizePx : fontSizesPx.usual;
  return {
    fontSizePx: Math.min(fontSizesPx.max, Math.max(fontSizesPx.min, size)),
    isForScreenReaders: isForScreenReaders === true,
  };
}

function read(): Preferences {
  try {
    current ??= parsePreferences(localStorage.getItem(storageKey));
  } catch {
    // Storage can be forbidden.
    current = parsePreferences(null);
  }
  return current;
}

export function prefer(changes: Partial<Preferences>): void {
  current = parsePreferences(JSON.stringify({ ...read(), ...changes }));
  try {
    localStorage.setItem(storageKey, JSON.stringify(current));
  } catch {
    // Then it lasts until the page is loaded again.
  }
  for (const listener of listeners) listener();
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(onChange, read);
}

function onChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
