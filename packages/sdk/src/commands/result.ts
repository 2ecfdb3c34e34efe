import type { Execution } from '../api/resources.ts';
import { CommandFailedError } from '../errors.ts';

/** How a command ended, with its output up to the limit of the service (1 MiB of each stream). */
export class CommandResult {
  /** The id of the execution. */
  readonly id: string;
  readonly sandboxId: string;
  /** `timeout` if the command ran longer than `timeoutMs`. */
  readonly status: 'completed' | 'timeout';
  /** 124 after a timeout; 128 + the number of the signal that killed it. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether `stdout` or `stderr` was cut off at the limit. What is streamed is not. */
  readonly truncated: boolean;
  /** Whether a process of the command was killed because the sandbox ran out of memory. */
  readonly oomKilled: boolean;
  readonly durationMs: number;
  /** Output that was dropped before it could be streamed, because it was read too slowly. */
  readonly missedBytes: number;
  /** The record of the service. */
  readonly execution: Execution;

  constructor(execution: Execution, missedBytes = 0) {
    this.id = execution.id;
    this.sandboxId = execution.sandboxId;
    this.status = execution.status === 'timeout' ? 'timeout' : 'completed';
    this.exitCode = execution.exitCode ?? 124;
    this.stdout = execution.stdout;
    this.stderr = execution.stderr;
    this.truncated = execution.truncated;
    this.oomKilled = execution.oomKilled;
    this.durationMs = execution.durationMs ?? 0;
    this.missedBytes = missedBytes;
    this.execution = execution;
  }

  /** Whether the command succeeded. */
  get ok(): boolean {
    return this.exitCode === 0;
  }

  /** Returns the result if the command succeeded. Throws a CommandFailedError otherwise. */
  orThrow(): this {
    if (!this.ok) throw new CommandFailedError(this.execution);
    return this;
  }
}

/** The result of a command that is running. `await` it, or `await` what `orThrow` returns. */
export class ResultPromise extends Promise<CommandResult> {
  /** What `then` and its relatives return is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** Like the result, but a command that fails rejects with a CommandFailedError. */
  orThrow(): Promise<CommandResult> {
    return this.then((result) => result.orThrow());
  }
}
