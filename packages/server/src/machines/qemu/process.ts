import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import type { QemuEngine } from './host/engine.ts';

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Where the programs of a host are; machines inherit nothing else of the service's environment. */
const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** How much of a machine's log is read to explain an end, in bytes. */
const logTailBytes = 4096;

/** A QEMU process in a session of its own, so that it outlives the service. */
export class QemuProcess {
  readonly pid: number;
  /** Settles when the process is gone; never rejects. */
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

  /** Starts QEMU with its output appended to a log file. */
  static async start(engine: QemuEngine, argv: readonly string[], logPath: string): Promise<QemuProcess> {
    const env = { PATH: searchPath, ...(engine.preloadPath ? { LD_PRELOAD: engine.preloadPath } : {}) };
    const log: FileHandle = await open(logPath, 'a', 0o600);
    try {
      const child = spawn(engine.binary, argv, { detached: true, stdio: ['ignore', log.fd, log.fd], cwd: '/', env });
      const pid = await new Promise<number>((resolve, reject) => {
        child.once('error', (cause) => reject(new Error(`could not start ${engine.binary}`, { cause })));
        child.once('spawn', () => resolve(child.pid ?? 0));
      });
      child.unref();
      return new QemuProcess(child, pid);
    } finally {
      await log.close();
    }
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Kills the process and waits until it is gone. */
  async kill(): Promise<void> {
    if (!this.#isGone) {
      this.#child.ref();
      this.#child.kill('SIGKILL');
    }
    await this.ended;
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
