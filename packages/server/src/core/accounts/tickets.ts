import { hash, randomBytes } from 'node:crypto';
import { fixedLimits } from '@mayfly/contract';
import { ApiError } from '../errors/api-error.ts';
import type { Clock } from '../ports/runtime.ts';

const { ticketsPerAccount, ticketSeconds } = fixedLimits;

/** A ticket that was not used yet. */
interface UnusedTicket {
  readonly accountId: string;
  /** Of the key that created the ticket. */
  readonly keyHash: string;
  readonly expiresAtMs: number;
}

interface CreatedTicket {
  /** Shown once; only its hash is kept. */
  readonly ticket: string;
  readonly expiresAtMs: number;
}

/**
 * Tickets take the place of a key in one request. They are in memory only: a restart of the service forgets them, which costs a client no more
 * than another ticket. A ticket leads to the hash of its key, not to an account, so that it is worth what the key is worth when it is used.
 */
export class Tickets {
  readonly #clock: Clock;
  /** By the hash of the ticket. The oldest are first, and all live equally long. */
  readonly #unused = new Map<string, UnusedTicket>();
  /** How many an account has; accounts without any are absent. */
  readonly #counts = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns a new ticket. Throws a 429 if the account has too many that were not used. */
  create(accountId: string, keyHash: string): CreatedTicket {
    this.#removeExpired();
    const count = this.#counts.get(accountId) ?? 0;
    if (count >= ticketsPerAccount) throw tooManyTickets();
    // 256 random bits, as a key has.
    const ticket = `tkt_${randomBytes(32).toString('base64url')}`;
    const expiresAtMs = this.#clock.nowMs() + ticketSeconds * 1_000;
    this.#unused.set(hashTicket(ticket), { accountId, keyHash, expiresAtMs });
    this.#counts.set(accountId, count + 1);
    return { ticket, expiresAtMs };
  }

  /** Uses a ticket up. Returns the hash of the key that created it; undefined if it is unknown, has expired or was used already. */
  redeem(ticket: string): string | undefined {
    this.#removeExpired();
    const ticketHash = hashTicket(ticket);
    const found = this.#unused.get(ticketHash);
    if (found === undefined) return undefined;
    this.#remove(ticketHash, found);
    // Where the clock was set back, an expired ticket can be behind one that is valid for longer.
    return this.#isExpired(found) ? undefined : found.keyHash;
  }

  /** Each ticket is removed once, so this costs next to nothing per call. Without any calls, what is left is bounded by the limit per account. */
  #removeExpired(): void {
    for (const [ticketHash, ticket] of this.#unused) {
      if (!this.#isExpired(ticket)) return;
      this.#remove(ticketHash, ticket);
    }
  }

  #isExpired({ expiresAtMs }: UnusedTicket): boolean {
    return this.#clock.nowMs() >= expiresAtMs;
  }

  #remove(ticketHash: string, { accountId }: UnusedTicket): void {
    this.#unused.delete(ticketHash);
    const left = (this.#counts.get(accountId) ?? 0) - 1;
    if (left > 0) this.#counts.set(accountId, left);
    else this.#counts.delete(accountId);
  }
}

function hashTicket(ticket: string): string {
  return hash('sha256', ticket, 'hex');
}

function tooManyTickets(): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    `Too many tickets: ${ticketsPerAccount} of this account are unused. Use them, or wait until they expire, ${ticketSeconds} seconds after they were created.`,
  );
}
