import { constants } from 'node:os';
import { CommandExit } from '../cli-io.ts';

type Name = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

const names: readonly Name[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** A terminal delivers a signal to all processes of a command line, and whoever started this one may pass it on: the second within this time is the same. */
const sameSignalMs = 300;

/**
 * Watches for Ctrl-C, SIGTERM and SIGHUP until it is disposed. The first asks what runs to end, the second leaves as soon as everything is cleaned up,
 * the third leaves at once. The reason of all three signals is a CommandExit with the code of the first: 130, 143 or 129.
 */
export class Interruption implements Disposable {
  readonly #aborts = [new AbortController(), new AbortController(), new AbortController()] as const;
  readonly #listeners = names.map((name) => ({ name, listener: () => this.#receive(name) }));
  readonly #lastAtMs = new Map<Name, number>();
  #first: Name | undefined;

  constructor() {
    for (const { name, listener } of this.#listeners) process.on(name, listener);
  }

  get first(): AbortSignal {
    return this.#aborts[0].signal;
  }

  get second(): AbortSignal {
    return this.#aborts[1].signal;
  }

  get third(): AbortSignal {
    return this.#aborts[2].signal;
  }

  /** The first signal as the service names it. Undefined if there was none. */
  get signalName(): 'INT' | 'TERM' | 'HUP' | undefined {
    return this.#first?.slice('SIG'.length) as 'INT' | 'TERM' | 'HUP' | undefined;
  }

  /** 128 + the number of the first signal. Undefined if there was none. */
  get exitCode(): number | undefined {
    return this.#first === undefined ? undefined : 128 + constants.signals[this.#first];
  }

  [Symbol.dispose](): void {
    for (const { name, listener } of this.#listeners) process.off(name, listener);
  }

  #receive(name: Name): void {
    const nowMs = performance.now();
    const lastAtMs = this.#lastAtMs.get(name) ?? Number.NEGATIVE_INFINITY;
    this.#lastAtMs.set(name, nowMs);
    if (nowMs - lastAtMs < sameSignalMs) return;
    this.#first ??= name;
    const next = this.#aborts.find(({ signal }) => !signal.aborted);
    next?.abort(new CommandExit(this.exitCode ?? 1));
  }
}
