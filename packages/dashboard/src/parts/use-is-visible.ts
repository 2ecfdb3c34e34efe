import { useSyncExternalStore } from 'react';

/** Whether somebody can see the page: streams are closed while it is in the background. */
export function useIsVisible(): boolean {
  return useSyncExternalStore(onChange, () => !document.hidden);
}

function onChange(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}
