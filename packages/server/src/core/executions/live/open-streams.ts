import { fixedLimits } from '@mayfly/contract';
import { Places } from '../../budgets/places.ts';
import { ApiError } from '../../errors/api-error.ts';

/** One open stream. */
export interface OpenStream extends Disposable {
  /** Aborted when the reader has gone or the service stops. */
  readonly signal: AbortSignal;
}

/** The streams that callers read. When the service stops they are cut at once, because their readers can continue them later. */
export class OpenStreams {
  readonly #places = new Places({
    perSandbox: fixedLimits.streamsPerSandbox,
    perAccount: fixedLimits.streamsPerAccount,
  });
  readonly #open = new Set<AbortController>();
  #isCut = false;

  get count(): number {
    return this.#open.size;
  }

  /** The open streams of an account. */
  countOf(accountId: string): number {
    return this.#places.takenBy(accountId);
  }

  /** Throws a 429 if the sandbox or the account has too many. */
  open(accountId: string, sandboxId: string): OpenStream {
    const leave = this.#places.take(accountId, sandboxId);
    if (typeof leave === 'string') throw tooManyStreams(leave, this.#places.limits[leave]);
    const controller = new AbortController();
    if (this.#isCut) controller.abort();
    this.#open.add(controller);
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        this.#open.delete(controller);
        leave();
        controller.abort();
      },
    };
  }

  /** Cuts all of them, and those that are opened later. */
  cutAll(): void {
    this.#isCut = true;
    for (const controller of this.#open) controller.abort();
  }
}

function tooManyStreams(limit: 'perSandbox' | 'perAccount', count: number): ApiError {
  const owner = limit === 'perSandbox' ? 'sandbox' : 'account';
  return new ApiError(
    'rate_limit_exceeded',
    `Too many streams at once: ${count} of this ${owner} are open. Close one, then try again.`,
  );
}
