import type { Metrics, PreviewRefusal } from '../../core/ports/metrics.ts';
import type { Clock, Log } from '../../core/ports/runtime.ts';
import { FixedWindow, sourceKey } from '../../core/windows/rate-windows.ts';
import { Refused } from './refusal.ts';

/** Refusals that the visitor caused, not the state of a sandbox. Browsers cause `misdirected` on their own. */
const visitorsFault: ReadonlySet<PreviewRefusal> = new Set(['unknown', 'bad_request', 'not_supported']);

interface RefusedRequestsOptions {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'previewAnswered'>;
  /** Must be paced: visitors cause the lines. */
  readonly log: Log;
  readonly perMinute: number;
}

/** Counts and logs the requests that the gateway refuses, and limits them per source address: looking an unknown preview up costs a query. */
export class RefusedRequests {
  readonly #options: RefusedRequestsOptions;
  readonly #window: FixedWindow;

  constructor(options: RefusedRequestsOptions) {
    this.#options = options;
    this.#window = new FixedWindow(options.clock);
  }

  /** Throws Refused if too many requests of this source address were refused in this minute. */
  check(source: string): void {
    const { perMinute } = this.#options;
    const { remaining, resetSeconds } = this.#window.stateOf(sourceKey(source), perMinute);
    if (remaining > 0) return;
    const message = `More than ${perMinute} requests from this address were refused in a minute. Wait for the number of seconds in Retry-After.`;
    throw new Refused('rate_limited', message, resetSeconds);
  }

  /** Counts a request that was answered with this refusal. */
  note(source: string, kind: PreviewRefusal): void {
    const { metrics, log, perMinute } = this.#options;
    metrics.previewAnswered(kind);
    const isFault = visitorsFault.has(kind);
    if (isFault) this.#window.take(sourceKey(source), perMinute);
    if (isFault || kind === 'rate_limited') log.info({ source, kind }, 'preview_refused');
  }
}
