import type { SizeName } from '@mayfly/contract';
import type { NewCredit } from '../../src/core/ports/store/ledger-store.ts';
import type { InsertOutcome, SandboxGuard, SandboxRecord } from '../../src/core/ports/store/sandbox-store.ts';
import type { StorageCharge } from '../../src/core/ports/store/snapshot-store.ts';
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

/** A stored snapshot, with its size since a time. */
interface Stored {
  bytes: number;
  sinceMs: number;
}

/** Independent bookkeeping: derived from when runs started and ended in the database, never from what they were charged. */
export class MoneyBook {
  readonly runs = new Map<string, Run>();
  creditsMicroUsd = 0;
  /** The cost of storage that ended: of snapshots that were removed, and of sizes that they no longer have. */
  storedMicroUsd = 0;
  readonly #stored = new Map<string, Stored>();
  readonly #prices: Readonly<Record<SizeName, number>>;
  readonly #storagePrice: number;
  readonly #nowMs: () => number;

  /** `storagePrice` is per GiB and 30 days. */
  constructor(prices: Readonly<Record<SizeName, number>>, storagePrice: number, nowMs: () => number) {
    this.#prices = prices;
    this.#storagePrice = storagePrice;
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
      if (operation.startsWith('snapshots.')) this.#snapshotChanged(operation, given, result);
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

  /** The cost so far of the runs that have not ended, and of what is stored. */
  get accruedMicroUsd(): number {
    const nowMs = this.#nowMs();
    const running = this.#sum(
      (run) => run.endedAtMs === undefined,
      (run) => costOf({ ...run, endedAtMs: nowMs }),
    );
    return [...this.#stored.values()].reduce((sum, stored) => sum + this.#storageCost(stored), running);
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

  #snapshotChanged(operation: string, given: readonly unknown[], result: unknown): void {
    const [id, bytes] = given as [string, number];
    if (operation === 'snapshots.complete') {
      if (result !== undefined) this.#stored.set(id, { bytes, sinceMs: this.#nowMs() });
      return;
    }
    if (!['snapshots.remove', 'snapshots.fail', 'snapshots.resize'].includes(operation)) return;
    const stored = this.#stored.get(id);
    if (stored === undefined || !(result as StorageCharge).changed) return;
    this.storedMicroUsd += this.#storageCost(stored);
    this.#stored.delete(id);
    if (operation === 'snapshots.resize') this.#stored.set(id, { bytes, sinceMs: this.#nowMs() });
  }

  #storageCost({ bytes, sinceMs }: Stored): number {
    const gigabyteMonths = (bytes / 1024 ** 3) * ((this.#nowMs() - sinceMs) / (30 * 24 * 60 * 60 * 1_000));
    return Math.round(gigabyteMonths * this.#storagePrice);
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
