import type { SizeName } from '@mayfly/contract';
import type { NewCredit } from '../../src/core/ports/store/ledger-store.ts';
import type { InsertOutcome, SandboxGuard, SandboxRecord } from '../../src/core/ports/store/sandbox-store.ts';
import type { Store } from '../../src/core/ports/store/store.ts';
import { aroundStore } from './around-store.ts';

/** The run of one sandbox. */
interface Run {
  readonly priceMicroUsdPerHour: number;
  readyAtMs?: number;
  expiresAtMs?: number;
  endedAtMs?: number;
  reason?: string | null;
}

/** Independent bookkeeping: derived from when runs started and ended in the database, never from what they were charged. */
export class MoneyBook {
  readonly runs = new Map<string, Run>();
  creditsMicroUsd = 0;
  readonly #prices: Readonly<Record<SizeName, number>>;
  readonly #nowMs: () => number;

  constructor(prices: Readonly<Record<SizeName, number>>, nowMs: () => number) {
    this.#prices = prices;
    this.#nowMs = nowMs;
  }

  /** Wraps a store and records what takes effect in it. */
  watch(store: Store): Store {
    return aroundStore(store, async (operation, given, call) => {
      const result = await call();
      if (operation === 'ledger.addCredit') this.creditsMicroUsd += (given[0] as NewCredit).amountMicroUsd;
      if (operation === 'sandboxes.insert') this.#inserted(result as InsertOutcome<unknown>);
      if (operation === 'sandboxes.change')
        this.#changed(given[0] as SandboxGuard, result as SandboxRecord | undefined);
      return result;
    });
  }

  /** The cost of the runs that have ended. */
  get endedMicroUsd(): number {
    return this.#sum((run) => run.endedAtMs !== undefined, costOf);
  }

  /** The charged time of the runs that have ended. */
  get endedRuntimeMs(): number {
    return this.#sum((run) => run.endedAtMs !== undefined, runtimeMsOf);
  }

  /** The cost so far of the runs that have not ended. */
  get accruedMicroUsd(): number {
    const nowMs = this.#nowMs();
    return this.#sum(
      (run) => run.endedAtMs === undefined,
      (run) => costOf({ ...run, endedAtMs: nowMs }),
    );
  }

  costMicroUsd(sandboxId: string): number {
    const run = this.runs.get(sandboxId);
    return run?.endedAtMs === undefined ? 0 : costOf(run);
  }

  #inserted(outcome: InsertOutcome<unknown>): void {
    if (outcome.kind !== 'inserted') return;
    this.runs.set(outcome.sandbox.id, { priceMicroUsdPerHour: this.#prices[outcome.sandbox.size] });
  }

  #changed(before: SandboxGuard, kept: SandboxRecord | undefined): void {
    const run = this.runs.get(kept?.id ?? '');
    if (run === undefined || kept === undefined) return;
    if (before.status === 'provisioning' && kept.status === 'running') run.readyAtMs = this.#nowMs();
    if (kept.status === 'running' && kept.expiresAtMs !== null) run.expiresAtMs = kept.expiresAtMs;
    if (before.status !== 'running' || kept.status === 'running') return;
    if (run.endedAtMs !== undefined) throw new Error(`${kept.id} left running twice`);
    run.endedAtMs = this.#nowMs();
    run.reason = kept.statusReason;
  }

  #sum(which: (run: Run) => boolean, of: (run: Run) => number): number {
    return [...this.runs.values()].filter(which).reduce((sum, run) => sum + of(run), 0);
  }
}

/** From ready to end, but not past the expiry; zero for a create that failed. */
function runtimeMsOf({ readyAtMs = 0, endedAtMs = 0, expiresAtMs = 0, reason }: Run): number {
  if (readyAtMs === 0 || reason?.startsWith('provisioning_failed')) return 0;
  return Math.max(0, Math.min(endedAtMs, expiresAtMs) - readyAtMs);
}

function costOf(run: Run): number {
  return Math.round((run.priceMicroUsdPerHour * runtimeMsOf(run)) / (60 * 60 * 1_000));
}
