import { setTimeout as wait } from 'node:timers/promises';
import { isSameProcess, type ProcessIdentity } from './jail/process-identity.ts';
import { killDeadlineMs, type MachineProcess, type ProcessEnd } from './process.ts';

/** How often a process that is not our child is looked at, in milliseconds; its monitor tells of most ends at once. */
const lookMs = 500;

/** A process that an earlier service started. */
export class AdoptedProcess implements MachineProcess {
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  readonly #identity: ProcessIdentity;
  #isGone = false;
  #gone: (end: ProcessEnd) => void = () => {};

  constructor(identity: ProcessIdentity) {
    this.#identity = identity;
    this.pid = identity.pid;
    this.ended = new Promise((resolve) => {
      this.#gone = resolve;
    });
    const timer = setInterval(() => this.look(), lookMs);
    timer.unref();
    void this.ended.then(() => clearInterval(timer));
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Finds out now whether the process is gone. */
  look(): void {
    if (this.#isGone || isSameProcess(this.#identity)) return;
    this.#isGone = true;
    this.#gone({ code: null, signal: null });
  }

  #signal(): void {
    try {
      process.kill(this.pid, 'SIGKILL');
    } catch {
      // It ended meanwhile; the next look sees that.
    }
  }

  async kill(): Promise<void> {
    this.look();
    if (!this.#isGone) this.#signal();
    for (let waitedMs = 0; !this.#isGone; waitedMs += 5) {
      if (waitedMs > killDeadlineMs) throw new Error(`process ${this.pid} does not go away`);
      await wait(5);
      this.look();
    }
  }
}
