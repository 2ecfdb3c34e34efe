// Runs on the host and in sandboxes, so it imports nothing but Node.js.
import type { Exchange } from './exchange.ts';

/** What is measured: concurrent small requests for some time, or one large body in either direction. */
export type Load =
  | { readonly kind: 'requests'; readonly together: number; readonly durationMs: number }
  | { readonly kind: 'down' | 'up'; readonly bytes: number };

const smallBytes = 5;

/** How long a small request takes under load, or the large one takes, in milliseconds. */
export async function measureLoad(exchange: Exchange, load: Load): Promise<number> {
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
}
