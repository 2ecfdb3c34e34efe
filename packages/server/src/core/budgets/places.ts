export interface PlaceLimits {
  readonly perSandbox: number;
  readonly perAccount: number;
}

/** Limits how many of something are open at once. Nobody waits: without a free place, a caller is refused. */
export class Places {
  readonly limits: PlaceLimits;
  readonly #taken = new Map<string, number>();

  constructor(limits: PlaceLimits) {
    this.limits = limits;
  }

  /** Takes a place. Returns what gives it back, or which limit has been reached. */
  take(accountId: string, sandboxId: string): (() => void) | keyof PlaceLimits {
    // With its account: nobody takes the places of a sandbox of others.
    const sandbox = `${accountId} ${sandboxId}`;
    if (this.#count(sandbox) >= this.limits.perSandbox) return 'perSandbox';
    if (this.#count(accountId) >= this.limits.perAccount) return 'perAccount';
    this.#add(accountId, 1);
    this.#add(sandbox, 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#add(accountId, -1);
      this.#add(sandbox, -1);
    };
  }

  /** The places that an account has taken. */
  takenBy(accountId: string): number {
    return this.#count(accountId);
  }

  #count(id: string): number {
    return this.#taken.get(id) ?? 0;
  }

  #add(id: string, change: number): void {
    const count = this.#count(id) + change;
    if (count > 0) this.#taken.set(id, count);
    else this.#taken.delete(id);
  }
}
