import { dashboardLimits } from '@mayfly/contract/dashboard';
import { ApiError } from '../errors/api-error.ts';
import type { Clock } from '../ports/runtime.ts';
import { type CountedRequest, FixedWindow, sourceKey } from '../windows/rate-windows.ts';

const { failuresPerEmail, failuresPerSource, attemptWindowMinutes } = dashboardLimits;

/** A 429 for an attempt that was not made. `counted` is the window that is full. */
export class TooManyAttempts extends ApiError {
  readonly counted: CountedRequest;

  constructor(counted: CountedRequest, whose: string) {
    super(
      'rate_limit_exceeded',
      `Too many failed attempts to sign in ${whose}: ${counted.limit} in ${attemptWindowMinutes} minutes. Wait for the number of seconds in Retry-After.`,
    );
    this.name = 'TooManyAttempts';
    this.counted = counted;
  }
}

/** An attempt that counts as failed until it is known to have succeeded. */
export interface Attempt {
  succeeded(): void;
}

/**
 * Limits how often passwords, codes and links can be guessed: per e-mail address, whether an account has it or not, and per source address. An attempt
 * is counted before it is made, so that many at once are no way around the limit. A restart of the service resets the windows.
 */
export class Attempts {
  readonly #emails: FixedWindow;
  readonly #sources: FixedWindow;

  constructor(clock: Clock) {
    const windowMs = attemptWindowMinutes * 60_000;
    this.#emails = new FixedWindow(clock, windowMs);
    this.#sources = new FixedWindow(clock, windowMs);
  }

  /** Throws TooManyAttempts if the attempt must not be made, though it might succeed. Links belong to no e-mail address. */
  begin(sourceAddress: string, email?: string): Attempt {
    const source = sourceKey(sourceAddress);
    const fromSource = this.#sources.take(source, failuresPerSource);
    if (fromSource.exceeded) throw new TooManyAttempts(fromSource, 'from this address');
    const emailKey = email?.toLowerCase();
    if (emailKey !== undefined) {
      const forEmail = this.#emails.take(emailKey, failuresPerEmail);
      if (forEmail.exceeded) {
        this.#sources.giveBack(source);
        throw new TooManyAttempts(forEmail, 'with this e-mail address');
      }
    }
    return {
      succeeded: () => {
        this.#sources.giveBack(source);
        if (emailKey !== undefined) this.#emails.giveBack(emailKey);
      },
    };
  }
}
