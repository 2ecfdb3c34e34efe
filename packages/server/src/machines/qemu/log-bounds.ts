import type { Log } from '../../core/ports/log.ts';
import { trimLog } from './jail/bounded-log.ts';
import type { QemuMachine } from './machine.ts';

/** How large a machine's log may grow before its beginning is dropped, in bytes. */
const maxLogBytes = 1024 * 1024;

/** How often the logs are looked at, in milliseconds. */
const logLookMs = 60_000;

/** Keeps the logs of living machines small: a guest may be able to make QEMU complain without end. */
export class LogBounds {
  readonly #log: Log;
  readonly #machines = new Set<QemuMachine>();
  readonly #timer: NodeJS.Timeout;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(log: Log, lookMs = logLookMs) {
    this.#log = log;
    this.#timer = setInterval(() => void this.#look([...this.#machines]), lookMs).unref();
  }

  /** Looks at a machine's log now, and from now on until the machine is gone. */
  watch(machine: QemuMachine): void {
    this.#machines.add(machine);
    void machine.exited.then(() => this.#machines.delete(machine));
    void this.#look([machine]);
  }

  /** One log after another, and never the same one twice at a time. */
  #look(machines: readonly QemuMachine[]): Promise<unknown> {
    this.#turn = this.#turn.then(async () => {
      for (const machine of machines) await this.#trim(machine);
    });
    return this.#turn;
  }

  async #trim(machine: QemuMachine): Promise<void> {
    try {
      if (await trimLog(machine.logPath, maxLogBytes))
        this.#log.warn({ machine_id: machine.id }, 'machine_log_trimmed');
    } catch (error) {
      if (this.#machines.has(machine)) this.#log.warn({ machine_id: machine.id, error }, 'machine_log_not_trimmed');
    }
  }

  /** Stops looking, once the look under way is over. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#machines.clear();
    await this.#turn;
  }
}
