import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { type HolderPlan, holderConfinement } from '../confinement/spec.ts';
import { startConfined } from '../confinement/start-confined.ts';
import { withDeadline } from '../core/scheduling/deadline.ts';

/** How long it may take to open the ports. */
const startMs = 60_000;

/** How long it may take to end before it is killed. */
const stopMs = 10_000;

/**
 * A process that keeps the service's ports open while the service is restarted: no other program can open them, and clients that connect
 * meanwhile wait for the next service. It has no privilege, never accepts a connection, and ends with this process.
 */
export class PortHolder implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  /** The socket from which mayfly-jail gets the open ports for a service. Only root can connect to it. */
  readonly socketPath: string;

  private constructor(child: ChildProcess, ended: Promise<unknown>, socketPath: string) {
    this.#child = child;
    this.#ended = ended;
    this.socketPath = socketPath;
  }

  /** Returns a process that has the ports open. Throws if it ends before, which it explains on stderr, or takes too long. */
  static async start(plan: HolderPlan): Promise<PortHolder> {
    // One that was killed left its socket behind.
    await rm(plan.socketPath, { force: true });
    const child = startConfined(plan.jailPath, holderConfinement(plan), { stdout: 'pipe' });
    const ended = once(child, 'exit');
    ended.catch(() => {});
    const ready = child.stdout === null ? Promise.reject(new Error('it has no output')) : once(child.stdout, 'data');
    ready.catch(() => {});
    const endedEarly = ended.then(([code]) =>
      Promise.reject(new Error(`The ports could not be held (exit code ${code}).`)),
    );
    try {
      await withDeadline('opening the ports of the service', startMs, Promise.race([ready, endedEarly]));
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
    return new PortHolder(child, ended, plan.socketPath);
  }

  /** Whether a service can get the ports from it. */
  get isUsable(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null && existsSync(this.socketPath);
  }

  /** Closes the ports, except for a service that has them open. */
  async [Symbol.asyncDispose](): Promise<void> {
    // Not killed at once: mayfly-jail ends after the process in its PID namespace, so the ports are closed by then.
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopMs);
    await this.#ended;
    clearTimeout(timer);
    await rm(this.socketPath, { force: true });
  }
}
