import type { Store } from '../../src/core/ports/store/store.ts';

/** Intercepts a call of a store. `operation` is e.g. `sandboxes.change`; `call` carries it out. */
export type Around = (operation: string, given: readonly unknown[], call: () => Promise<unknown>) => Promise<unknown>;

/** A store whose calls are intercepted by a test. */
export function aroundStore(store: Store, around: Around): Store {
  const part = <Part extends object>(name: string, real: Part): Part =>
    new Proxy(real, {
      get: (target, method) => {
        const value: unknown = Reflect.get(target, method);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) =>
          around(`${name}.${String(method)}`, given, () => Reflect.apply(value, target, given) as Promise<unknown>);
      },
    });
  return {
    accounts: part('accounts', store.accounts),
    sandboxes: part('sandboxes', store.sandboxes),
    snapshots: part('snapshots', store.snapshots),
    executions: part('executions', store.executions),
    ledger: part('ledger', store.ledger),
    previews: part('previews', store.previews),
    audit: part('audit', store.audit),
    signIns: part('signIns', store.signIns),
    retention: part('retention', store.retention),
    owner: part('owner', store.owner),
    close: () => store.close(),
  };
}
