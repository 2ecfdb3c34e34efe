import { useSyncExternalStore } from 'react';

/** Whether somebody can see the page. Browsers allow six connections per host, so pages in the background hold none. */
export function useIsVisible(): boolean {
  return useSyncExternalStore(onChange, () => !document.hidden);
}

function onChange(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}
