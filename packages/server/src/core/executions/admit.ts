import type { Limits } from '@mayfly/contract';
import { BudgetExceeded, type SharedBudget } from '../budgets/shared-budget.ts';
import { ApiError } from '../errors/api-error.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { type BalanceNeeds, requireCredit } from '../money/balance.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { getSandbox, type ReadSandboxNeeds, requireRunning } from '../sandboxes/read.ts';

/** What admitting a command needs. */
export type AdmitCommandNeeds = ReadSandboxNeeds &
  BalanceNeeds & {
    readonly limits: Limits;
    readonly machines: MachineRegistry;
    readonly budgets: { readonly commands: SharedBudget };
  };

/** Checks that the sandbox runs and that the account can pay for it. */
export async function requireUsableSandbox(
  core: ReadSandboxNeeds & BalanceNeeds,
  account: AccountRecord,
  sandboxId: string,
): Promise<void> {
  const sandbox = await getSandbox(core, account, sandboxId);
  requireRunning(sandbox);
  await requireCreditFor(core, account, sandbox);
}

/** Admits a command that its caller waits for, as soon as the account runs fewer than it may at once. Returns what gives its place back. */
export async function admitCommand(
  core: AdmitCommandNeeds,
  account: AccountRecord,
  sandboxId: string,
): Promise<() => void> {
  await requireUsableSandbox(core, account, sandboxId);
  const { commands } = core.budgets;
  if (!commands.tryTake(account.id, 1)) await waitForTurn(core, account, sandboxId);
  return () => commands.give(account.id, 1);
}

async function requireCreditFor(core: BalanceNeeds, account: AccountRecord, sandbox: SandboxRecord): Promise<void> {
  if (sandbox.priceMicroUsdPerHour > 0) await requireCredit(core, account);
}

/** Waits until the account runs fewer commands than it may at once. Throws if the sandbox has ended or the credit is used up meanwhile. */
async function waitForTurn(core: AdmitCommandNeeds, account: AccountRecord, sandboxId: string): Promise<void> {
  const { commands } = core.budgets;
  try {
    await commands.take(account.id, 1, core.limits.maxCommandTimeoutMs);
  } catch (cause) {
    if (!(cause instanceof BudgetExceeded)) throw cause;
    const limit = `${commands.perAccount} commands of this account are running`;
    throw new ApiError('rate_limit_exceeded', `Too many commands at once: ${limit}. Nothing ran. Try again later.`, {
      cause,
    });
  }
  try {
    await requireUsableSandbox(core, account, sandboxId);
    // Its record may still say that it is running, for example while the service stops.
    if (!core.machines.serves(sandboxId)) throw new ApiError('execution_failed', 'Nothing ran: the machine is gone.');
  } catch (error) {
    commands.give(account.id, 1);
    throw error;
  }
}
