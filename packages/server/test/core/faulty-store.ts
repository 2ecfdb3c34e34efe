import type { Store } from '../../src/core/ports/store/store.ts';
import { aroundStore } from './around-store.ts';

/** What goes wrong with calls of the store. */
export interface Fault {
  /** So many calls succeed first. */
  readonly afterCalls: number;
  /** Whether a call takes effect although it fails. */
  readonly takesEffect: boolean;
  /** How many calls in a row fail; the process dies of the first one when it is infinite. */
  readonly calls: number;
}

/** A failure that a test wanted. */
export class InjectedFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InjectedFault';
  }
}

/** The store as one process sees it, until that process dies. Calls fail as a test decides. */
export class FaultyStore {
  readonly store: Store;
  #fault: Fault | undefined;
  #calls = 0;
  #dead = false;

  constructor(store: Store) {
    this.store = aroundStore(store, (_operation, _given, call) => this.#call(call));
  }

  /** Whatever the process still does reaches nothing. */
  get dead(): boolean {
    return this.#dead;
  }

  /** Counts calls from now on. */
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
