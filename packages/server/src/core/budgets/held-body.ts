import { ApiError } from '../errors/api-error.ts';
import { uncountedBytes } from './held-result.ts';
import { BudgetExceeded, type SharedBudget } from './shared-budget.ts';

/** How long an upload waits for room. */
export const roomWaitMs = 120_000;

/** The budgets that request bodies take from. */
export interface BodyBudgets {
  readonly bodyBytes: SharedBudget;
  readonly uploads: SharedBudget;
}

/** What one request holds of the memory for bodies: from before its body is read until its response is sent. */
export class HeldBody implements Disposable {
  readonly #budgets: BodyBudgets;
  readonly #account: string;
  readonly #ended = new AbortController();
  #isUpload = false;
  #bytes = 0;

  constructor(budgets: BodyBudgets, account: string) {
    this.#budgets = budgets;
    this.#account = account;
  }

  /**
   * Waits for room for a whole body of up to this size, so that nobody holds room while waiting. Small bodies are not counted. Throws a 429 if the
   * account has too many uploads open, or if no room became free.
   */
  async admit(bytes: number): Promise<void> {
    if (bytes <= uncountedBytes || this.#isUpload) return;
    const { bodyBytes, uploads } = this.#budgets;
    if (!uploads.tryTake(this.#account, 1)) throw tooManyUploads();
    this.#isUpload = true;
    const amount = Math.min(bytes, bodyBytes.perAccount);
    try {
      await bodyBytes.take(this.#account, amount, roomWaitMs, this.#ended.signal);
    } catch (error) {
      this.#giveUpload();
      throw error instanceof BudgetExceeded ? tooManyUploads(error) : error;
    }
    if (this.#ended.signal.aborted) bodyBytes.give(this.#account, amount);
    else this.#bytes = amount;
  }

  /** Gives back what was reserved beyond the actual size of the body. */
  shrinkTo(bytes: number): void {
    if (bytes >= this.#bytes) return;
    this.#budgets.bodyBytes.give(this.#account, this.#bytes - bytes);
    this.#bytes = bytes;
  }

  /** Gives everything back, and ends a wait for room. */
  [Symbol.dispose](): void {
    this.#ended.abort();
    this.shrinkTo(0);
    this.#giveUpload();
  }

  #giveUpload(): void {
    if (this.#isUpload) this.#budgets.uploads.give(this.#account, 1);
    this.#isUpload = false;
  }
}

function tooManyUploads(cause?: unknown): ApiError {
  const message = 'Too many large requests of this account at once. Wait until some have ended, then try again.';
  return new ApiError('rate_limit_exceeded', message, { cause });
}
