import { ApiError } from '../errors/api-error.ts';
import { NoRoom } from '../ports/guest-agent.ts';
import { BudgetExceeded, type SharedBudget } from './shared-budget.ts';

/** How long a read waits for room. Slow readers are cut well before that. */
export const roomWaitMs = 120_000;

/** Results up to this size are not counted. They are bounded by the rate limits alone. */
export const uncountedBytes = 32_768;

/** What one request holds of the memory for results: from before a result arrives until its response is sent. */
export class HeldResult implements Disposable {
  readonly #budget: SharedBudget;
  readonly #account: string;
  #bytes = 0;
  /** A call that was given up may still reserve when its answer arrives. */
  #isDisposed = false;

  constructor(budget: SharedBudget, account: string) {
    this.#budget = budget;
    this.#account = account;
  }

  /** Reserves room for a result of up to this size, or for more of it than before; false if there is none now. */
  readonly tryReserve = (bytes: number): boolean => {
    if (this.#isDisposed) return false;
    const amount = Math.min(bytes, this.#budget.perAccount);
    if (amount <= this.#bytes) return true;
    if (!this.#budget.tryTake(this.#account, amount - this.#bytes)) return false;
    this.#bytes = amount;
    return true;
  };

  /** Gives back what is held and waits for room for the whole result, so that nobody holds room while waiting. Rejects with BudgetExceeded. */
  async reserve(bytes: number, deadlineMs: number): Promise<void> {
    this.shrinkTo(0);
    const amount = Math.min(bytes, this.#budget.perAccount);
    await this.#budget.take(this.#account, amount, deadlineMs);
    if (this.#isDisposed) this.#budget.give(this.#account, amount);
    else this.#bytes = amount;
  }

  /** Gives back what was reserved beyond the actual size of the result. */
  shrinkTo(bytes: number): void {
    const kept = bytes <= uncountedBytes ? 0 : bytes;
    if (kept >= this.#bytes) return;
    this.#budget.give(this.#account, this.#bytes - kept);
    this.#bytes = kept;
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.shrinkTo(0);
  }

  /** Makes a call that collects a result. If it fails with NoRoom, waits for room and makes the call again. Throws a 429 if none became free. */
  async collect<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      await this.reserve(error.neededBytes, roomWaitMs).catch(refuse);
    }
    return await call();
  }
}

function refuse(cause: unknown): never {
  if (!(cause instanceof BudgetExceeded)) throw cause;
  const message = 'Too many large responses of this account are waiting to be read. Read them, then try again.';
  throw new ApiError('rate_limit_exceeded', message, { cause });
}
