import { type BudgetLimits, SharedBudget } from './shared-budget.ts';

const mebibyte = 1024 ** 2;

/** What one account may take of the service at once, and all accounts together. */
export interface BudgetSettings {
  /** Commands that run at once. The total only guards against many accounts. */
  readonly commands: BudgetLimits;
  /** Bytes of output, files and listings in memory: from their arrival until their responses are sent. */
  readonly resultBytes: BudgetLimits;
  /** Bytes of large request bodies in memory: from before they are read until their responses are sent. */
  readonly bodyBytes: BudgetLimits;
  /** Requests with large bodies, those that wait for room included. */
  readonly uploads: BudgetLimits;
}

export const defaultBudgets: BudgetSettings = {
  commands: { perAccount: 200, total: 4_000, waitingPerAccount: 1_000 },
  resultBytes: { perAccount: 128 * mebibyte, total: 512 * mebibyte, waitingPerAccount: 1_000 },
  bodyBytes: { perAccount: 64 * mebibyte, total: 256 * mebibyte, waitingPerAccount: 64 },
  uploads: { perAccount: 64, total: 1_024, waitingPerAccount: 0 },
};

export interface Budgets {
  readonly commands: SharedBudget;
  readonly resultBytes: SharedBudget;
  readonly bodyBytes: SharedBudget;
  readonly uploads: SharedBudget;
}

export function createBudgets(settings: Partial<BudgetSettings> = {}): Budgets {
  const { commands, resultBytes, bodyBytes, uploads } = { ...defaultBudgets, ...settings };
  return {
    commands: new SharedBudget(commands),
    resultBytes: new SharedBudget(resultBytes),
    bodyBytes: new SharedBudget(bodyBytes),
    uploads: new SharedBudget(uploads),
  };
}
