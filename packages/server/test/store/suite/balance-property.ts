import { sandboxStatuses } from '@mayfly/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SandboxRecord } from '../../../src/core/ports/store/sandbox-store.ts';
import type { Store } from '../../../src/core/ports/store/store.ts';
import { admitAll, newAccount, newSandbox, type OpenedStore } from '../fixtures.ts';

const runs = 25;
const sandboxes = 4;

/** One operation on an account. */
const act = fc.oneof(
  fc.record({ kind: fc.constant('credit' as const), amount: fc.integer({ min: -1e9, max: 1e9 }) }),
  fc.record({ kind: fc.constant('insert' as const), index: fc.nat(sandboxes - 1) }),
  fc.record({
    kind: fc.constant('change' as const),
    index: fc.nat(sandboxes - 1),
    status: fc.constantFrom(...sandboxStatuses),
    charged: fc.boolean(),
  }),
);
type Act = typeof act extends fc.Arbitrary<infer Value> ? Value : never;

/** Runs operations on one account and tracks the expected totals of its ledger. */
class Actor {
  readonly #store: Store;
  readonly #accountId: string;
  readonly #charged = new Set<number>();
  #creditMicroUsd: number;
  #credits = 0;

  constructor(store: Store, accountId: string, openingCreditMicroUsd: number) {
    this.#store = store;
    this.#accountId = accountId;
    this.#creditMicroUsd = openingCreditMicroUsd;
  }

  async do(next: Act): Promise<void> {
    if (next.kind === 'credit') return this.#credit(next.amount);
    const id = `${this.#accountId}_sbx_${next.index}`;
    if (next.kind === 'change') return this.#change(id, next);
    const sandbox = newSandbox(id, { accountId: this.#accountId, idempotencyKey: id });
    await this.#store.sandboxes.insert(sandbox, admitAll);
  }

  async check(): Promise<void> {
    const { settledMicroUsd, addedMicroUsd, spentMicroUsd } = await this.#store.ledger.summary(this.#accountId, 0);
    const spent = Array.from(this.#charged, costOf).reduce((sum, cost) => sum + cost, 0);
    expect({ addedMicroUsd, spentMicroUsd }).toEqual({ addedMicroUsd: this.#creditMicroUsd, spentMicroUsd: spent });
    expect(settledMicroUsd).toBe(addedMicroUsd - spentMicroUsd);
  }

  async #credit(amountMicroUsd: number): Promise<void> {
    const id = `${this.#accountId}_credit_${this.#credits++}`;
    this.#creditMicroUsd += amountMicroUsd;
    const credit = { id, accountId: this.#accountId, amountMicroUsd, createdAtMs: 5, note: '' };
    await this.#store.ledger.addCredit(credit);
  }

  async #change(id: string, { index, status, charged }: Act & { kind: 'change' }): Promise<void> {
    const seen: SandboxRecord | undefined = await this.#store.sandboxes.read(id);
    if (seen === undefined) return;
    const charge = charged ? { charge: { amountMicroUsd: costOf(index), runtimeMs: 1, atMs: 5 } } : {};
    const written = await this.#store.sandboxes.change(seen, { status, ...charge });
    if (charged && written !== undefined) this.#charged.add(index);
  }
}

function costOf(index: number): number {
  return 7 ** index;
}

export function describeBalanceProperty(opened: OpenedStore): void {
  test('after any concurrent operations the balance is the sum of the ledger, and a sandbox is charged at most once', async () => {
    let accounts = 0;
    const turns = fc.array(fc.array(act, { minLength: 1, maxLength: 6 }), { maxLength: 8 });
    const holds = fc.asyncProperty(fc.nat(1e9), turns, async (openingCreditMicroUsd, acts) => {
      const account = newAccount(`p${accounts++}`, { openingCreditMicroUsd });
      await opened().accounts.create(account);
      const actor = new Actor(opened(), account.id, openingCreditMicroUsd);
      for (const together of acts) {
        await Promise.all(together.map((next) => actor.do(next)));
        await actor.check();
      }
    });
    await fc.assert(holds, { numRuns: runs });
  }, 60_000);
}
