import { isIPv6 } from 'node:net';
import type { Limits } from '@mayfly/contract';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';

/** The state of a window after a request was counted. */
export interface WindowUse {
  readonly limit: number;
  /** Requests left in this window. */
  readonly remaining: number;
  /** Whole seconds until the window ends; at least 1. */
  readonly resetSeconds: number;
  /** Whether this request is over the limit. */
  readonly exceeded: boolean;
}

/** The rate limits of the service: per source address, and per account over all its keys. A restart resets them. */
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

  /** Counts a request from an address, before it is authenticated. */
  countSource(address: string): WindowUse {
    return this.#sources.take(sourceKey(address), this.#limits.sourceRequestsPerMinute, this.#clock.nowMs());
  }

  /** Counts a request of an account. */
  countRequest(account: AccountRecord): WindowUse {
    const limit = account.limits.requestsPerMinute ?? this.#limits.requestsPerMinute;
    return this.#requests.take(account.id, limit, this.#clock.nowMs());
  }

  /** Counts a create request of an account, in addition to countRequest. */
  countCreation(account: AccountRecord): WindowUse {
    const limit = account.limits.creationsPerMinute ?? this.#limits.creationsPerMinute;
    return this.#creations.take(account.id, limit, this.#clock.nowMs());
  }
}

/** The maximum number of keys in one window; beyond it the oldest is dropped. */
const maxKeys = 100_000;
const windowMs = 60_000;

/** Counts requests per key in fixed windows of 60 seconds, aligned to the minute. */
export class FixedWindow {
  readonly #counts = new Map<string, number>();
  #window = Number.NaN;

  /** Counts one request. */
  take(key: string, limit: number, nowMs: number): WindowUse {
    const window = Math.floor(nowMs / windowMs);
    if (window !== this.#window) {
      this.#counts.clear();
      this.#window = window;
    }
    const count = (this.#counts.get(key) ?? 0) + 1;
    if (count === 1 && this.#counts.size >= maxKeys) this.#dropOldest();
    this.#counts.set(key, count);
    return {
      limit,
      remaining: Math.max(limit - count, 0),
      resetSeconds: Math.ceil(((window + 1) * windowMs - nowMs) / 1_000),
      exceeded: count > limit,
    };
  }

  #dropOldest(): void {
    for (const oldest of this.#counts.keys()) {
      this.#counts.delete(oldest);
      return;
    }
  }
}

/** How Node reports an IPv4 peer of a dual-stack socket. */
const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/;

/** The key that a source address is counted under: an IPv4 address itself, an IPv6 address by its /64, which one customer owns. */
export function sourceKey(address: string): string {
  if (!address.includes(':')) return address;
  const ipv4 = mappedIpv4.exec(address)?.[1];
  if (ipv4 !== undefined) return ipv4;
  if (!isIPv6(address)) return address;
  const ipv6 = ipaddr.IPv6.parse(address);
  if (ipv6.isIPv4MappedAddress()) return ipv6.toIPv4Address().toString();
  const prefix = ipv6.parts.slice(0, 4).map((part) => part.toString(16));
  return `${prefix.join(':')}::/64`;
}
