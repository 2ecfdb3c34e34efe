import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as passes } from 'node:timers/promises';

const windowMs = 60_000;
/** What is left unused of every window, for callers that do not pace themselves. */
const reserve = 2;
const creationsPerMinute = 40;
/** Headers count whole seconds. */
const roundingMs = 1_000;

/** Keeps the requests of one account within its windows, by what the rate-limit headers say. */
export class Pace {
  #limit = 120;
  #remaining = 120;
  #resetsAtMs = 0;
  #inFlight = 0;
  /** When the creations of the last minute were sent. */
  readonly #creations: number[] = [];
  /** How long requests were held back so far. */
  waitedMs = 0;

  /** Waits until one more request fits, unless it is meant not to. */
  async before(isCreation: boolean, mayWait: boolean): Promise<void> {
    for (let wait = this.#waitMs(isCreation); mayWait && wait > 0; wait = this.#waitMs(isCreation)) {
      this.waitedMs += wait;
      await passes(wait);
    }
    this.#inFlight += 1;
    if (isCreation) this.#creations.push(Date.now());
  }

  /** Learns from an answer; without one only that it is over. */
  after(headers: IncomingHttpHeaders | undefined): void {
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

  /** Zero when a request may go now. */
  #waitMs(isCreation: boolean): number {
    const now = Date.now();
    const untilReset = this.#resetsAtMs + roundingMs - now;
    if (untilReset <= 0) this.#remaining = this.#limit;
    const free = this.#remaining - this.#inFlight > reserve;
    if (!free) return Math.max(untilReset, 200);
    while ((this.#creations[0] ?? now) < now - windowMs - roundingMs) this.#creations.shift();
    const [oldest = now] = this.#creations;
    return isCreation && this.#creations.length >= creationsPerMinute ? oldest + windowMs + roundingMs - now + 50 : 0;
  }
}
