import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { machineDeadlines } from '../../core/ports/machine-deadlines.ts';
import { withDeadline } from '../../core/scheduling/deadline.ts';
import { isSameProcess, type ProcessIdentity } from './jail/proc.ts';
import type { ProcessKiller } from './jail/process-killer.ts';

/** How a process ended. Both are null for a process that another host process started. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The QEMU process of a machine. */
export interface MachineProcess {
  readonly pid: number;
  /** Resolves when the process is gone; never rejects. */
  readonly ended: Promise<ProcessEnd>;
  readonly isGone: boolean;
  /** Kills the process and waits until it is gone. Throws DeadlineExceeded when that takes too long. */
  kill(): Promise<void>;
}

export interface ProcessStart {
  readonly program: string;
  readonly argv: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The output is appended to this file. */
  readonly logPath: string;
}

const { killMs } = machineDeadlines.destroy;

/** A process that this host process started. It has a session of its own, so that it outlives the host process. */
export class StartedProcess implements MachineProcess {
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  #isGone = false;

  private constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.pid = pid;
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#isGone = true;
        resolve({ code, signal });
      });
    });
  }

  static async start({ program, argv, env, logPath }: ProcessStart): Promise<StartedProcess> {
    const log: FileHandle = await open(logPath, 'a', 0o600);
    try {
      const child = spawn(program, argv, { detached: true, stdio: ['ignore', log.fd, log.fd], cwd: '/', env });
      const pid = await new Promise<number>((resolve, reject) => {
        child.once('error', (cause) => reject(new Error(`could not start ${program}`, { cause })));
        child.once('spawn', () => resolve(child.pid ?? 0));
      });
      child.unref();
      return new StartedProcess(child, pid);
    } finally {
      // A failure to close the log must not lose a process that is running.
      await log.close().catch(() => {});
    }
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Waits until the process has ended, and keeps the event loop alive meanwhile. */
  async untilEnded(): Promise<ProcessEnd> {
    if (!this.#isGone) this.#child.ref();
    return await this.ended;
  }

  async kill(): Promise<void> {
    if (!this.#isGone) this.#child.kill('SIGKILL');
    await withDeadline(`killing process ${this.pid}`, killMs, this.untilEnded());
  }
}

/** How often a process that is not a child of this one is polled. Usually its closed monitor reveals its end before that. */
const pollMs = 500;

/** How often a process that is being killed is polled. */
const killPollMs = 5;

/** A process that an earlier host process started. */
export class AdoptedProcess implements MachineProcess {
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  readonly #identity: ProcessIdentity;
  readonly #killer: Pick<ProcessKiller, 'killProcess'>;
  readonly #end: (end: ProcessEnd) => void;
  #isGone = false;

  constructor(identity: ProcessIdentity, killer: Pick<ProcessKiller, 'killProcess'>) {
    this.#identity = identity;
    this.#killer = killer;
    this.pid = identity.pid;
    const { promise, resolve } = Promise.withResolvers<ProcessEnd>();
    this.ended = promise;
    this.#end = resolve;
    const timer = setInterval(() => this.poll(), pollMs).unref();
    void this.ended.then(() => clearInterval(timer));
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Checks now whether the process is gone. */
  poll(): void {
    if (this.#isGone || isSameProcess(this.#identity)) return;
    this.#isGone = true;
    this.#end({ code: null, signal: null });
  }

  async kill(): Promise<void> {
    this.poll();
    if (this.#isGone) return;
    await this.#killer.killProcess(this.#identity);
    const timer = setInterval(() => this.poll(), killPollMs);
    try {
      await withDeadline(`killing process ${this.pid}`, killMs, this.ended);
    } finally {
      clearInterval(timer);
    }
  }
}

/** How much of a log is read to explain why a machine ended. */
const logTailBytes = 4096;

/** The last lines of a log, for an error message; empty when there is no log. */
export async function readLogTail(logPath: string): Promise<string> {
  const log = await open(logPath, 'r').catch(() => undefined);
  if (!log) return '';
  try {
    const { size } = await log.stat();
    const start = Math.max(0, size - logTailBytes);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(logTailBytes), 0, logTailBytes, start);
    return buffer.toString('utf8', 0, bytesRead).trim();
  } finally {
    await log.close();
  }
}

/** Explains in one line why a QEMU process is gone: what the guest did, or how the process ended. */
export function exitReason(end: ProcessEnd, shutdownReason: string | undefined): string {
  if (shutdownReason === 'guest-shutdown') return 'the guest powered itself off';
  if (shutdownReason === 'guest-reset') return 'the guest restarted: a reboot or a kernel panic';
  if (shutdownReason === 'guest-panic') return 'the kernel of the guest panicked';
  if (end.signal) return `qemu was killed by ${end.signal}`;
  return `qemu ended with code ${end.code ?? 'unknown'}`;
}

/** QEMU prints it once when a guest gives memory back. The library in native/qemu-preload sees to it that the file is not modified. */
const discardWarning = 'Discarding RAM in private file mappings';

/**
 * The line of a machine's log that tells most about its end: why its kernel panicked, or what was printed last. Empty if there is none. The guest may
 * have written any of it.
 */
export function explainingLine(tail: string): string {
  const lines = tail.split('\n').filter((line) => !line.includes(discardWarning));
  const line = lines.findLast((text) => text.includes('Kernel panic - not syncing')) ?? lines.at(-1);
  return line?.trim() ?? '';
}
