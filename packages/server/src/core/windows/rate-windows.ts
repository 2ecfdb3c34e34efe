import type { Limits } from '@mayfly/contract';
import type { Clock } from '../ports/clock.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { FixedWindow, type WindowUse } from './fixed-window.ts';
import { sourceKey } from './source-address.ts';

/** The windows of the service: per source address, and per account over all its keys. They start anew with the process. */
export class RateWindows {
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #sources = new FixedWindow();
  readonly #requests = new FixedWindow();
  readonly #creations = new FixedWindow();

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Counts a request from an address, before anything is known of it. */
  countSource(address: string): WindowUse {
    return this.#sources.take(sourceKey(address), this.#limits.sourceRequestsPerMinute, this.#clock.nowMs());
  }

  /** Counts a request of an account. */
  countRequest(account: AccountRecord): WindowUse {
    const limit = account.limits.requestsPerMinute ?? this.#limits.requestsPerMinute;
    return this.#requests.take(account.id, limit, this.#clock.nowMs());
  }

  /** Counts a create of an account, on top of its request. */
  countCreation(account: AccountRecord): WindowUse {
    const limit = account.limits.creationsPerMinute ?? this.#limits.creationsPerMinute;
    return this.#creations.take(account.id, limit, this.#clock.nowMs());
  }
}
