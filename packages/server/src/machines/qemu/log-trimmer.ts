import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Log } from '../../core/ports/runtime.ts';
import type { QemuMachine } from './machine.ts';

/** A machine's log is trimmed when it grows beyond this size. */
export const maxLogBytes = 1024 * 1024;

export const defaultCheckMs = 60_000;

/** Keeps the logs of running machines small: a guest may print to its console endlessly, or make QEMU print warnings. */
export class LogTrimmer implements AsyncDisposable {
  readonly #log: Log;
  readonly #machines = new Set<LoggedMachine>();
  readonly #timer: NodeJS.Timeout;
  #lastCheck: Promise<unknown> = Promise.resolve();

  constructor(log: Log, checkMs = defaultCheckMs) {
    this.#log = log;
    this.#timer = setInterval(() => void this.#check([...this.#machines]), checkMs).unref();
  }

  /** Checks a machine's log now, and then regularly until the machine has exited. */
  watch(machine: LoggedMachine): void {
    this.#machines.add(machine);
    void machine.exited.then(() => this.#machines.delete(machine));
    void this.#check([machine]);
  }

  /** Checks one log at a time, so that no log is trimmed twice at once. */
  #check(machines: readonly LoggedMachine[]): Promise<unknown> {
    this.#lastCheck = this.#lastCheck.then(async () => {
      for (const machine of machines) await this.#trim(machine);
    });
    return this.#lastCheck;
  }

  async #trim(machine: LoggedMachine): Promise<void> {
    try {
      if (await trimLog(machine.logPath, maxLogBytes))
        this.#log.warn({ machine_id: machine.id }, 'machine_log_trimmed');
    } catch (err) {
      if (this.#machines.has(machine)) this.#log.warn({ machine_id: machine.id, err }, 'machine_log_trim_failed');
    }
  }

  /** Stops checking after the current check has finished. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#machines.clear();
    await this.#lastCheck;
  }
}

type LoggedMachine = Pick<QemuMachine, 'id' | 'logPath' | 'exited'>;

const trimNotice = '[earlier lines were dropped]\n';

/**
 * Cuts a log that has grown beyond maxBytes to its last lines, at most half of maxBytes. Returns whether it was cut. A process may keep
 * appending, because the file stays the same; what it writes during the cut may be lost. Symbolic links and special files are refused.
 */
export async function trimLog(path: string, maxBytes: number): Promise<boolean> {
  const { O_RDWR, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
  const log = await open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
  try {
    const { size, ...stats } = await log.stat();
    if ((stats.mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error(`${path} is not a regular file`);
    if (size <= maxBytes) return false;
    const keepBytes = Math.floor(maxBytes / 2);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(keepBytes), 0, keepBytes, size - keepBytes);
    const tail = buffer.subarray(0, bytesRead);
    await log.truncate(0);
    await log.write(Buffer.concat([Buffer.from(trimNotice), tail.subarray(tail.indexOf('\n') + 1)]));
    return true;
  } finally {
    await log.close();
  }
}
