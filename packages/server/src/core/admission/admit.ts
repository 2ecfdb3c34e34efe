import { ApiError } from '../errors/api-error.ts';
import { liveBalanceMicroUsd } from '../money/balance.ts';
import { costMicroUsd } from '../money/cost.ts';
import type { AdmissionFacts } from '../ports/store/sandbox-store.ts';

/** How much runtime of a small sandbox an account must be able to pay to start any. */
const minimumRuntimeMs = 300_000;

/** What a create is held against besides the facts. */
export interface AdmissionRules {
  readonly concurrentSandboxes: number;
  readonly smallPriceMicroUsdPerHour: number;
}

/** Why a create is refused, credit before quota; undefined when it is not. Pure. */
export function admit(facts: AdmissionFacts, rules: AdmissionRules, nowMs: number): ApiError | undefined {
  const minimum = costMicroUsd(minimumRuntimeMs, rules.smallPriceMicroUsdPerHour);
  const balance = liveBalanceMicroUsd(facts, nowMs);
  if (balance < minimum || balance <= 0) {
    const needed = `at least ${minimum / 1_000_000} USD`;
    return new ApiError('insufficient_credits', `the balance is too low to start a sandbox, which needs ${needed}`);
  }
  if (facts.openSandboxes >= rules.concurrentSandboxes) {
    const most = `${rules.concurrentSandboxes} sandboxes at once`;
    return new ApiError('quota_exceeded', `this account may have ${most}; delete one first`);
  }
  return undefined;
}
