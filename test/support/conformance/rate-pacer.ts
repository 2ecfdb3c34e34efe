import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const windowMs = 60_000;
/** Requests of every window that are left unused, for callers that do not wait. */
const reserve = 2;
const creationsPerMinute = 40;
/** The rate-limit headers count whole seconds. */
const roundingMs = 1_000;

/** Delays the requests of one account to keep them within its rate limits, as reported by the rate-limit headers. */
export class RatePacer {
  #limit = 120;
  #remaining = 120;
  #resetsAtMs = 0;
  #inFlight = 0;
  /** When the creations of the last minute were sent. */
  readonly #creations: number[] = [];

  /** Registers a request. Waits first until it fits into the limits, if it may wait. */
  async begin(isCreation: boolean, mayWait: boolean): Promise<void> {
    for (let wait = this.#waitMs(isCreation); mayWait && wait > 0; wait = this.#waitMs(isCreation)) await sleep(wait);
    this.#inFlight += 1;
    if (isCreation) this.#creations.push(Date.now());
  }

  /** Registers the end of a request. Pass the headers of its response unless they belong to another account. */
  end(headers: IncomingHttpHeaders | undefined): void {
    this.#inFlight -= 1;
    const limit = Number(headers?.['ratelimit-limit']);
    const remaining = Number(headers?.['ratelimit-remaining']);
    const resetsAtMs = Date.now() + Number(headers?.['ratelimit-reset']) * 1000;
    if (![limit, remaining, resetsAtMs].every(Number.isFinite)) return;
    const isNewWindow = resetsAtMs > this.#resetsAtMs + 2 * roundingMs;
    this.#limit = limit;
    this.#remaining = isNewWindow ? remaining : Math.min(this.#remaining, remaining);
    this.#resetsAtMs = isNewWindow ? resetsAtMs : Math.max(this.#resetsAtMs, resetsAtMs);
  }

  /** How long a request has to wait; 0 if it may be sent now. */
  #waitMs(isCreation: boolean): number {
    const now = Date.now();
    const untilReset = this.#resetsAtMs + roundingMs - now;
    if (untilReset <= 0) this.#remaining = this.#limit;
    const fits = this.#remaining - this.#inFlight > reserve;
    if (!fits) return Math.max(untilReset, 200);
    while ((this.#creations[0] ?? now) < now - windowMs - roundingMs) this.#creations.shift();
    const [oldest = now] = this.#creations;
    return isCreation && this.#creations.length >= creationsPerMinute ? oldest + windowMs + roundingMs - now + 50 : 0;
  }
}
