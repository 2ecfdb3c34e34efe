import { ApiError, accountSuspended } from '../errors/api-error.ts';
import { costMicroUsd, liveBalanceMicroUsd } from '../money/balance.ts';
import type { AdmissionFacts } from '../ports/store/sandbox-store.ts';

/** To start any sandbox, an account must be able to pay for this runtime of a small one. */
export const minimumRuntimeMs = 300_000;

export interface AdmissionRules {
  readonly concurrentSandboxes: number;
  /** The price of the requested size. A size without a price needs no credit. */
  readonly priceMicroUsdPerHour: number;
  readonly smallPriceMicroUsdPerHour: number;
}

/** Why a create is refused for the account: suspended, then credit, then quota; undefined if it is not. Pure. */
export function admit(facts: AdmissionFacts, rules: AdmissionRules, nowMs: number): ApiError | undefined {
  if (facts.suspended) return accountSuspended();
  const minimum = costMicroUsd(minimumRuntimeMs, rules.smallPriceMicroUsdPerHour);
  const balance = liveBalanceMicroUsd(facts, nowMs);
  if (rules.priceMicroUsdPerHour > 0 && (balance < minimum || balance <= 0)) {
    const needed = minimum > 0 ? `At least ${minimum / 1_000_000} USD is required.` : 'It must be above zero.';
    return new ApiError('insufficient_credits', `The balance is too low to start a sandbox. ${needed}`);
  }
  if (facts.openSandboxes >= rules.concurrentSandboxes) {
    const quota = `${rules.concurrentSandboxes} sandboxes at the same time`;
    return new ApiError('quota_exceeded', `This account is limited to ${quota}. Delete one first.`);
  }
  return undefined;
}
