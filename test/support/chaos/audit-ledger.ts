import {
  type AuditedDatabase,
  type LedgerRow,
  readLedger,
  readNumber,
  readSandboxes,
  type SandboxRow,
} from './database.ts';

const hourMs = 3_600_000;

/** Holds the money against what it must be: each run charged once, from ready to end; the balance the sum of everything. */
export const auditLedger = async (database: AuditedDatabase): Promise<string[]> => {
  const [sandboxes, ledger] = [await readSandboxes(database), await readLedger(database)];
  const balance = await readNumber(database, 'select sum(balance_micro_usd) from accounts');
  const credits = sumOf(ledger.filter(({ kind }) => kind === 'credit'));
  const truth = sandboxes.reduce((left, sandbox) => {
    const entry = ledger.find(({ sandboxId }) => sandboxId === sandbox.id);
    return left - (hasEnded(sandbox) && entry !== undefined ? costOf(sandbox, entry.atMs) : 0);
  }, credits);
  return [
    ...sandboxes.flatMap((sandbox) => chargeProblems(sandbox, ledger)),
    ...(balance === sumOf(ledger) ? [] : [`the balance is ${balance}, the ledger sums up to ${sumOf(ledger)}`]),
    ...(balance === truth ? [] : [`the balance is ${balance}, what ran comes to ${truth}`]),
  ];
};

const sumOf = (entries: readonly LedgerRow[]): number => entries.reduce((sum, entry) => sum + entry.amountMicroUsd, 0);

/** Whether it ran and runs no more. One whose create was answered with a failure never ran for anybody. */
const hasEnded = ({ readyAtMs, status, statusReason }: SandboxRow): boolean =>
  readyAtMs !== null && status !== 'running' && !statusReason?.startsWith('provisioning_failed');

/** What a run until then costs. */
const costOf = (sandbox: SandboxRow, endedAtMs: number): number =>
  Math.round((runtimeOf(sandbox, endedAtMs) * sandbox.priceMicroUsdPerHour) / hourMs);

const runtimeOf = ({ readyAtMs, expiresAtMs }: SandboxRow, endedAtMs: number): number =>
  Math.max(Math.min(endedAtMs, expiresAtMs ?? endedAtMs) - (readyAtMs ?? endedAtMs), 0);

const chargeProblems = (sandbox: SandboxRow, ledger: readonly LedgerRow[]): string[] => {
  const charges = ledger.filter(({ sandboxId }) => sandboxId === sandbox.id);
  const wanted = hasEnded(sandbox) ? 1 : 0;
  if (charges.length !== wanted) return [`${sandbox.id} (${sandbox.status}) was charged ${charges.length} times`];
  return charges.flatMap(({ amountMicroUsd, runtimeMs, atMs }) => {
    const problems: string[] = [];
    if (-amountMicroUsd !== costOf(sandbox, atMs)) problems.push(`${sandbox.id} was charged ${-amountMicroUsd}`);
    if (runtimeMs !== runtimeOf(sandbox, atMs)) problems.push(`${sandbox.id} was charged for ${runtimeMs} ms`);
    if (atMs > (sandbox.deletedAtMs ?? atMs)) problems.push(`${sandbox.id} was charged after it was deleted`);
    return problems;
  });
};
