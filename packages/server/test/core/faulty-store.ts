import type { Store } from '../../src/core/ports/store/store.ts';
import { aroundStore } from './around-store.ts';

/** Which calls of the store fail, and how. */
export interface Fault {
  /** The number of calls that succeed first. */
  readonly afterCalls: number;
  /** Whether a failing call takes effect nevertheless. */
  readonly takesEffect: boolean;
  /** The number of consecutive calls that fail. If it is infinite, the process dies at the first one. */
  readonly calls: number;
}

/** A failure that a test injected. */
export class InjectedFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InjectedFault';
  }
}

/** The store as one process sees it until that process dies. A test decides which calls fail. */
export class FaultyStore {
  readonly store: Store;
  #fault: Fault | undefined;
  #calls = 0;
  #dead = false;

  constructor(store: Store) {
    this.store = aroundStore(store, (_operation, _given, call) => this.#call(call));
  }

  /** After its death nothing the process does has an effect. */
  get dead(): boolean {
    return this.#dead;
  }

  /** Sets the fault. Calls are counted from here. */
  fail(fault: Fault | undefined): void {
    this.#fault = fault;
    this.#calls = 0;
  }

  die(): void {
    this.#dead = true;
  }

  async #call(call: () => Promise<unknown>): Promise<unknown> {
    if (this.#dead) throw new InjectedFault('the process is dead');
    const fault = this.#fault;
    const number = this.#calls++;
    if (fault === undefined || number < fault.afterCalls || number >= fault.afterCalls + fault.calls)
      return await call();
    if (fault.calls === Number.POSITIVE_INFINITY) this.#dead = true;
    if (fault.takesEffect) await call();
    throw new InjectedFault('the database failed');
  }
}
