import { FairTurns } from '../scheduling/fair-turns.ts';

const grantsPerTurn = 4;

/** How much of something that all accounts share may be taken at once. */
export interface BudgetLimits {
  readonly perAccount: number;
  readonly total: number;
  /** How many requests of one account may wait; further ones are refused at once. */
  readonly waitingPerAccount: number;
}

/** Nothing became free in time, or too many requests of the account are waiting already. */
export class BudgetExceeded extends Error {
  constructor() {
    super('no room became free in time');
    this.name = 'BudgetExceeded';
  }
}

interface Waiter {
  readonly amount: number;
  readonly grant: () => void;
}

/**
 * A semaphore with a ceiling per account and one over all accounts. Who finds no room waits in line: in order within an account, and among
 * accounts the one that holds least comes first. So an account that holds much delays its own requests before those of others.
 */
export class SharedBudget {
  readonly #limits: BudgetLimits;
  readonly #held = new Map<string, number>();
  readonly #lines = new Map<string, Waiter[]>();
  /** A grant may lead to the next one, and a thousand of them at once would hold the event loop. */
  readonly #turns = new FairTurns(grantsPerTurn);
  #total = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  /** The largest amount that can be taken at once. */
  get perAccount(): number {
    return this.#limits.perAccount;
  }

  /** What all accounts hold. */
  get held(): number {
    return this.#total;
  }

  /** How many requests are waiting. */
  get waiting(): number {
    return Array.from(this.#lines.values()).reduce((count, line) => count + line.length, 0);
  }

  heldBy(account: string): number {
    return this.#held.get(account) ?? 0;
  }

  /** Takes the amount if it is free and nobody has to go first. Give the same amount back with `give`. */
  tryTake(account: string, amount: number): boolean {
    if (this.#lines.has(account) || !this.#fits(account, amount)) return false;
    // A holder that waits only for the total comes first, so that large amounts are not passed over for ever.
    if (this.#lines.size > 0 && this.#nextAccount() !== undefined) return false;
    this.#add(account, amount);
    return true;
  }

  /**
   * Takes the amount as soon as it is free. Rejects with BudgetExceeded after `deadlineMs`, or at once if the line is full. Leaves the line when the
   * signal is aborted, and rejects with its reason.
   */
  async take(account: string, amount: number, deadlineMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.tryTake(account, amount)) return;
    const line = this.#lines.get(account) ?? [];
    if (line.length >= this.#limits.waitingPerAccount) throw new BudgetExceeded();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (reason: unknown) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#leave(account, waiter);
      this.#grant();
      reject(reason);
    };
    const onAbort = () => giveUp(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(() => giveUp(new BudgetExceeded()), deadlineMs).unref();
    const waiter: Waiter = {
      amount,
      grant: () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        const turn = this.#turns.next(account);
        if (turn === undefined) resolve();
        else void turn.then(resolve);
      },
    };
    line.push(waiter);
    this.#lines.set(account, line);
    await promise;
  }

  /** Gives back what was taken, or a part of it. */
  give(account: string, amount: number): void {
    this.#add(account, -amount);
    this.#grant();
  }

  #fitsAccount(account: string, amount: number): boolean {
    return this.heldBy(account) + amount <= this.#limits.perAccount;
  }

  #fits(account: string, amount: number): boolean {
    return this.#fitsAccount(account, amount) && this.#total + amount <= this.#limits.total;
  }

  #add(account: string, amount: number): void {
    const held = this.heldBy(account) + amount;
    if (held > 0) this.#held.set(account, held);
    else this.#held.delete(account);
    this.#total += amount;
  }

  #leave(account: string, waiter: Waiter): void {
    const line = this.#lines.get(account)?.filter((other) => other !== waiter) ?? [];
    if (line.length > 0) this.#lines.set(account, line);
    else this.#lines.delete(account);
  }

  /** The account whose turn it is: of those below their own ceiling, the one that holds least. */
  #nextAccount(): string | undefined {
    let next: string | undefined;
    for (const [account, [first]] of this.#lines) {
      if (first === undefined || !this.#fitsAccount(account, first.amount)) continue;
      if (next === undefined || this.heldBy(account) < this.heldBy(next)) next = account;
    }
    return next;
  }

  #grant(): void {
    for (let account = this.#nextAccount(); account !== undefined; account = this.#nextAccount()) {
      const first = this.#lines.get(account)?.[0];
      if (first === undefined || !this.#fits(account, first.amount)) return;
      this.#leave(account, first);
      this.#add(account, first.amount);
      first.grant();
    }
  }
}
