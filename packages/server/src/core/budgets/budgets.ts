import { type BudgetLimits, SharedBudget } from './shared-budget.ts';

const mebibyte = 1024 ** 2;

/** What one account may take of the service at once, and all accounts together. */
export interface BudgetSettings {
  /** Commands that run at once. The total only guards against many accounts. */
  readonly commands: BudgetLimits;
  /** Bytes of output, files and listings in memory: from their arrival until their responses are sent. */
  readonly resultBytes: BudgetLimits;
}

const defaultBudgets: BudgetSettings = {
  commands: { perAccount: 200, total: 4_000, waitingPerAccount: 1_000 },
  resultBytes: { perAccount: 128 * mebibyte, total: 512 * mebibyte, waitingPerAccount: 1_000 },
};

export interface Budgets {
  readonly commands: SharedBudget;
  readonly resultBytes: SharedBudget;
}

export function createBudgets(settings: Partial<BudgetSettings> = {}): Budgets {
  const { commands, resultBytes } = { ...defaultBudgets, ...settings };
  return { commands: new SharedBudget(commands), resultBytes: new SharedBudget(resultBytes) };
}
