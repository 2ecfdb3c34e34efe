import { isIPv6 } from 'node:net';
import type { Limits } from '@mayfly/contract';
import { dashboardLimits } from '@mayfly/contract/dashboard';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../ports/runtime.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';

/** The state of a window at one moment. */
export interface WindowState {
  readonly limit: number;
  /** Requests left in this window. */
  readonly remaining: number;
  /** Whole seconds until the window ends; at least 1. */
  readonly resetSeconds: number;
}

/** A request that was counted in a window. */
export interface CountedRequest {
  readonly limit: number;
  /** Whether this request is over the limit. */
  readonly exceeded: boolean;
  /** The window that is current now. It is a later one than the request's own once the minute has passed. */
  current(): WindowState;
}

/** Routes that need no key cost less than others, and load balancers and monitoring call them often. */
export const publicRequestsFactor = 4;

/** The rate limits of the service: per source address, and per account over all its keys. A restart resets them. */
export class RateWindows {
  readonly #limits: Limits;
  readonly #sources: FixedWindow;
  readonly #public: FixedWindow;
  readonly #requests: FixedWindow;
  readonly #creations: FixedWindow;
  readonly #sessions: FixedWindow;

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits;
    this.#sources = new FixedWindow(clock);
    this.#public = new FixedWindow(clock);
    this.#requests = new FixedWindow(clock);
    this.#creations = new FixedWindow(clock);
    this.#sessions = new FixedWindow(clock);
  }

  /** Counts a request from an address, before it is authenticated. */
  countSource(address: string): CountedRequest {
    return this.#sources.take(sourceKey(address), this.#limits.sourceRequestsPerMinute);
  }

  /** Counts a request from an address to a route that needs no key, which the window of countSource does not include. */
  countPublic(address: string): CountedRequest {
    return this.#public.take(sourceKey(address), publicRequestsFactor * this.#limits.sourceRequestsPerMinute);
  }

  /** Counts a request of an account. */
  countRequest(account: AccountRecord): CountedRequest {
    return this.#requests.take(account.id, this.#requestLimit(account));
  }

  /** Counts a request of the dashboard with a session of an account, which the window of countRequest does not include. */
  countSession(account: AccountRecord): CountedRequest {
    return this.#sessions.take(account.id, dashboardLimits.requestsPerMinute);
  }

  /** The current windows of an account. Nothing is counted. */
  statesOf(account: AccountRecord): { readonly [Window in 'requests' | 'creations' | 'sessions']: WindowState } {
    return {
      requests: this.#requests.stateOf(account.id, this.#requestLimit(account)),
      creations: this.#creations.stateOf(account.id, this.#creationLimit(account)),
      sessions: this.#sessions.stateOf(account.id, dashboardLimits.requestsPerMinute),
    };
  }

  /** Counts sandboxes that a request of an account creates, in addition to countRequest: all of them, or none if that would exceed the limit. */
  countCreations(account: AccountRecord, count: number): CountedRequest {
    return this.#creations.take(account.id, this.#creationLimit(account), count);
  }

  #requestLimit({ limits }: AccountRecord): number {
    return limits.requestsPerMinute ?? this.#limits.requestsPerMinute;
  }

  #creationLimit({ limits }: AccountRecord): number {
    return limits.creationsPerMinute ?? this.#limits.creationsPerMinute;
  }
}

/** The maximum number of keys in one window; beyond it the oldest is dropped. */
const maxKeys = 100_000;
const minuteMs = 60_000;

/** Counts requests per key in fixed windows, by default of 60 seconds, that are aligned to multiples of their length. */
export class FixedWindow {
  readonly #clock: Clock;
  readonly #counts = new Map<string, number>();
  readonly #windowMs: number;
  #window = Number.NaN;

  constructor(clock: Clock, windowMs = minuteMs) {
    this.#clock = clock;
    this.#windowMs = windowMs;
  }

  /** Counts one request, or several at once. Nothing is counted if that would exceed the limit. */
  take(key: string, limit: number, requests = 1): CountedRequest {
    this.#advance(this.#clock.nowMs());
    const before = this.#counts.get(key);
    const count = (before ?? 0) + requests;
    const exceeded = count > limit;
    if (!exceeded) {
      if (before === undefined && this.#counts.size >= maxKeys) this.#dropOldest();
      this.#counts.set(key, count);
    }
    return { limit, exceeded, current: () => this.stateOf(key, limit) };
  }

  /** Gives back one request that was counted. */
  giveBack(key: string): void {
    this.#advance(this.#clock.nowMs());
    const count = this.#counts.get(key);
    if (count !== undefined && count > 1) this.#counts.set(key, count - 1);
    else this.#counts.delete(key);
  }

  /** The current window of a key, which is not counted. */
  stateOf(key: string, limit: number): WindowState {
    const nowMs = this.#clock.nowMs();
    this.#advance(nowMs);
    return {
      limit,
      remaining: Math.max(limit - (this.#counts.get(key) ?? 0), 0),
      resetSeconds: Math.ceil(((this.#window + 1) * this.#windowMs - nowMs) / 1_000),
    };
  }

  /** Forgets the counts of the previous window once it has ended. */
  #advance(nowMs: number): void {
    const window = Math.floor(nowMs / this.#windowMs);
    if (window === this.#window) return;
    this.#counts.clear();
    this.#window = window;
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
