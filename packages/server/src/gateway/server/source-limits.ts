import { sourceKey } from '../../core/windows/rate-windows.ts';
import type { GatewayLimits } from '../gateway-context.ts';

/** Addresses that are remembered; beyond it the one that was seen first is forgotten. */
const maxSources = 100_000;

interface Source {
  open: number;
  /** New connections that the address may still open now. */
  left: number;
  /** When `left` was computed. */
  atMs: number;
}

/** What is needed of a socket. */
interface VisitorConnection {
  readonly remoteAddress?: string | undefined;
  once(event: 'close', listener: () => void): unknown;
}

type Limits = Pick<GatewayLimits, 'connectionsPerSource' | 'newConnectionsBurst' | 'newConnectionsPerSecond'>;

/**
 * Limits connections per source address, open ones and new ones per second: each new one costs a TLS handshake, about a millisecond of the
 * service's only thread. An IPv6 address counts as its /64.
 */
export class SourceLimits {
  readonly #limits: Limits;
  readonly #nowMs: () => number;
  readonly #sources = new Map<string, Source>();

  constructor(limits: Limits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** Counts a new connection until it closes. Returns false, and counts nothing, if its source may not open another one. */
  admit(connection: VisitorConnection): boolean {
    const source = this.#refilled(sourceKey(connection.remoteAddress ?? ''));
    if (source.left < 1 || source.open >= this.#limits.connectionsPerSource) return false;
    source.left -= 1;
    source.open += 1;
    connection.once('close', () => {
      source.open -= 1;
    });
    return true;
  }

  #refilled(key: string): Source {
    const { newConnectionsBurst: burst, newConnectionsPerSecond: perSecond } = this.#limits;
    const atMs = this.#nowMs();
    const known = this.#sources.get(key);
    if (known !== undefined) {
      known.left = Math.min(burst, known.left + ((atMs - known.atMs) * perSecond) / 1_000);
      known.atMs = atMs;
      return known;
    }
    for (const oldest of this.#sources.keys()) {
      if (this.#sources.size < maxSources) break;
      this.#sources.delete(oldest);
    }
    const created = { open: 0, left: burst, atMs };
    this.#sources.set(key, created);
    return created;
  }
}
