import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/** How a process ended; neither is known of one that somebody else started. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The QEMU process of a machine. */
export interface MachineProcess {
  readonly pid: number;
  /** Settles when the process is gone; never rejects. */
  readonly ended: Promise<ProcessEnd>;
  readonly isGone: boolean;
  /** Kills the process and waits until it is gone. Fails when it does not go away. */
  kill(): Promise<void>;
}

/** What is started: a program, its arguments and its whole environment. */
export interface ProcessStart {
  readonly program: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Its output is appended here. */
  readonly logPath: string;
}

/** How long a killed process may take to be gone, in milliseconds. */
export const killDeadlineMs = 10_000;

/** How much of a machine's log is read to explain an end, in bytes. */
const logTailBytes = 4096;

/** A process that this service started, in a session of its own, so that it outlives the service. */
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
      // A process that runs must not be lost over it.
      await log.close().catch(() => {});
    }
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Waits for its end, and keeps this process alive meanwhile. */
  async untilEnded(): Promise<ProcessEnd> {
    if (!this.#isGone) this.#child.ref();
    return await this.ended;
  }

  async kill(): Promise<void> {
    if (!this.#isGone) this.#child.kill('SIGKILL');
    const gaveUp = new AbortController();
    const late = wait(killDeadlineMs, 'late' as const, { signal: gaveUp.signal }).catch(() => 'late' as const);
    const first = await Promise.race([this.untilEnded(), late]);
    gaveUp.abort();
    if (first === 'late') throw new Error(`process ${this.pid} does not go away`);
  }
}

/** The last lines of a log, for an error message; empty when there is none. */
export const readLogTail = async (logPath: string): Promise<string> => {
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
};
