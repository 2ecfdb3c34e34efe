import { sourceKey } from '../core/windows/rate-windows.ts';

/** Addresses without an open connection that are remembered; beyond it the one that was active least recently is forgotten. */
const maxIdleSources = 100_000;

/** What one source address may open. */
export interface ConnectionLimits {
  /** Open connections. */
  readonly connectionsPerSource: number;
  /** New connections at once, and per second after that. */
  readonly newConnectionsBurst: number;
  readonly newConnectionsPerSecond: number;
}

interface Source {
  open: number;
  /** New connections that the address may still open now. */
  left: number;
  /** When `left` was computed. */
  atMs: number;
}

/** What is needed of a socket. */
interface Connection {
  readonly remoteAddress?: string | undefined;
  once(event: 'close', listener: () => void): unknown;
}

/**
 * Limits connections per source address, open ones and new ones per second: with TLS, each new one costs a handshake, about a millisecond of the
 * service's only thread. An IPv6 address counts as its /64.
 */
export class SourceLimits {
  readonly #limits: ConnectionLimits;
  readonly #nowMs: () => number;
  /** Sources with open connections. They are never forgotten: the server's own limit of connections bounds them. */
  readonly #open = new Map<string, Source>();
  /** All others, the one that was active least recently first. */
  readonly #idle = new Map<string, Source>();

  constructor(limits: ConnectionLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** Counts a new connection until it closes. Returns false, and counts nothing, if its source may not open another one. */
  admit(connection: Connection): boolean {
    const key = sourceKey(connection.remoteAddress ?? '');
    const source = this.#refilled(key);
    const isAdmitted = source.left >= 1 && source.open < this.#limits.connectionsPerSource;
    if (isAdmitted) {
      source.left -= 1;
      source.open += 1;
      connection.once('close', () => {
        source.open -= 1;
        this.#remember(key, source);
      });
    }
    this.#remember(key, source);
    return isAdmitted;
  }

  #refilled(key: string): Source {
    const { newConnectionsBurst: burst, newConnectionsPerSecond: perSecond } = this.#limits;
    const atMs = this.#nowMs();
    const known = this.#open.get(key) ?? this.#idle.get(key);
    if (known === undefined) return { open: 0, left: burst, atMs };
    known.left = Math.min(burst, known.left + ((atMs - known.atMs) * perSecond) / 1_000);
    known.atMs = atMs;
    return known;
  }

  #remember(key: string, source: Source): void {
    this.#idle.delete(key);
    if (source.open > 0) {
      this.#open.set(key, source);
      return;
    }
    this.#open.delete(key);
    this.#idle.set(key, source);
    for (const oldest of this.#idle.keys()) {
      if (this.#idle.size <= maxIdleSources) break;
      this.#idle.delete(oldest);
    }
  }
}
