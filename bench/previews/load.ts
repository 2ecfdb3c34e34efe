// Runs on the host and in sandboxes: nothing but Node.js is imported.
import type { Exchange } from './exchange.ts';

/** What is measured: small requests, so many at once for so long, or one large body either way. */
export type Load =
  | { readonly kind: 'requests'; readonly together: number; readonly durationMs: number }
  | { readonly kind: 'down' | 'up'; readonly bytes: number };

const smallBytes = 5;

/** How long one request takes under load, or the large one; in milliseconds. */
export const measureLoad = async (exchange: Exchange, load: Load): Promise<number> => {
  const startedMs = performance.now();
  const elapsedMs = () => performance.now() - startedMs;
  if (load.kind === 'requests') {
    let answered = 0;
    const keepAsking = async (): Promise<void> => {
      while (elapsedMs() < load.durationMs) {
        await exchange(smallBytes, 0);
        answered += 1;
      }
    };
    await Promise.all(Array.from({ length: load.together }, keepAsking));
    return elapsedMs() / answered;
  }
  await (load.kind === 'down' ? exchange(load.bytes, 0) : exchange(smallBytes, load.bytes));
  return elapsedMs();
};
