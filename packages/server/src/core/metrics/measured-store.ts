import type { Metrics } from '../ports/metrics.ts';
import type { NewAccount } from '../ports/store/account-store.ts';
import type { Store } from '../ports/store/store.ts';

/** The store, with its failures and the money that goes through it counted. */
export function measuredStore(store: Store, metrics: Metrics): Store {
  const opened = (created: boolean, { openingCreditMicroUsd }: NewAccount) => {
    if (created) metrics.credited(openingCreditMicroUsd);
  };
  return {
    accounts: measured('accounts', store.accounts, metrics, { create: opened, createFirst: opened }),
    sandboxes: measured('sandboxes', store.sandboxes, metrics, {
      change: (written, _guard, { charge }) => {
        if (written !== undefined && charge !== undefined) metrics.charged(charge.amountMicroUsd);
      },
    }),
    executions: measured('executions', store.executions, metrics),
    ledger: measured('ledger', store.ledger, metrics, {
      addCredit: (_done, { amountMicroUsd }) => metrics.credited(amountMicroUsd),
    }),
    previews: measured('previews', store.previews, metrics),
    retention: measured('retention', store.retention, metrics),
    owner: measured('owner', store.owner, metrics),
    close: () => store.close(),
  };
}

/** What to count once a method has succeeded. */
type Successes<Part> = {
  readonly [Name in keyof Part]?: Part[Name] extends (...given: infer Given) => Promise<infer Result>
    ? (result: Result, ...given: Given) => void
    : never;
};
type Method = (...given: unknown[]) => Promise<unknown>;
type Success = (result: unknown, ...given: unknown[]) => void;

/** Counts every call that fails; a write that fails may have taken effect all the same. */
function measured<Part extends object>(
  name: string,
  part: Part,
  metrics: Metrics,
  successes: Successes<Part> = {},
): Part {
  const methods = new Map<string | symbol, unknown>();
  const measure = (operation: string): Method => {
    const call = (given: unknown[]) => (Reflect.get(part, operation) as Method).apply(part, given);
    const succeeded = Reflect.get(successes, operation) as Success | undefined;
    const failed = (error: unknown): never => {
      metrics.storeFailed(`${name}.${operation}`);
      throw error;
    };
    if (succeeded === undefined) return (...given) => call(given).catch(failed);
    return async (...given) => {
      const result = await call(given).catch(failed);
      succeeded(result, ...given);
      return result;
    };
  };
  return new Proxy(part, {
    get: (target, operation) => {
      if (!methods.has(operation)) {
        const value: unknown = Reflect.get(target, operation);
        methods.set(operation, typeof value === 'function' ? measure(String(operation)) : value);
      }
      return methods.get(operation);
    },
  });
}
