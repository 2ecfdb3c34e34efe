/// <reference lib="esnext.disposable" preserve="true" />
import { ApiError } from '../api/api-error.ts';
import type { ExecutionSummary, SandboxInfo, Snapshot, Stats } from '../api/resources.ts';
import { Command } from '../commands/command.ts';
import type { CommandLine } from '../commands/command-line.ts';
import { ResultPromise } from '../commands/result.ts';
import { type ExecOptions, exec, type SpawnOptions, start } from '../commands/start.ts';
import { type Connection, path, type RequestOptions } from '../http/connection.ts';
import { type Listing, listing } from '../http/pages.ts';
import { openTerminal, type Terminal, type TerminalOptions } from '../terminals/terminal.ts';
import { Files } from './files.ts';
import { newIdempotencyKey } from './idempotency-key.ts';
import { Ports } from './ports.ts';
import { SandboxCaller } from './sandbox-caller.ts';
import { type WatchStatsOptions, watchStats } from './watch-stats.ts';

export interface SnapshotOptions extends RequestOptions {
  /** A label of your choice. */
  readonly name?: string | undefined;
  /** A name by which `template` finds it, unique within the account. */
  readonly alias?: string | undefined;
}

export interface ForkOptions extends RequestOptions {
  /** The number of copies. One unless given. */
  readonly count?: number | undefined;
  /** A label for all copies. */
  readonly name?: string | undefined;
  /** After how many minutes the copies are destroyed. */
  readonly lifetimeMinutes?: number | undefined;
}

/** The copies of a sandbox that were made, and the errors of those that were not. */
export interface Forks {
  readonly sandboxes: readonly Sandbox[];
  readonly errors: readonly { readonly type: string; readonly message: string }[];
}

const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

/** A sandbox: a virtual machine of its own. The handle holds no connection; any process can have one with `sandboxes.get(id)`. */
export class Sandbox {
  readonly id: string;
  readonly files: Files;
  readonly ports: Ports;
  readonly #caller: SandboxCaller;
  #info: SandboxInfo;

  /** Sandboxes are made by `mayfly.sandboxes`. */
  constructor(connection: Connection, info: SandboxInfo) {
    this.id = info.id;
    this.#info = info;
    this.#caller = new SandboxCaller(connection, info.id);
    this.files = new Files(this.#caller);
    this.ports = new Ports(this.#caller);
  }

  /** The record of the sandbox when it was last received. `refresh` gets the current one. */
  get info(): SandboxInfo {
    return this.#info;
  }

  get name(): string | null {
    return this.#info.name;
  }

  get status(): SandboxInfo['status'] {
    return this.#info.status;
  }

  get expiresAt(): Date | null {
    return this.#info.expiresAt;
  }

  /** Gets the current record. */
  async refresh(options: RequestOptions = {}): Promise<SandboxInfo> {
    this.#info = await this.#caller.request({ method: 'GET', path: '', repeatable: true, ...options });
    return this.#info;
  }

  /**
   * Runs a command to its end. A string is a command line for bash, an array is a program with its arguments. A command that fails is a result;
   * `exec(…).orThrow()` makes it an error.
   */
  exec(command: CommandLine, options: ExecOptions = {}): ResultPromise {
    const { connection } = this.#caller;
    return ResultPromise.resolve(this.#caller.explained(exec(connection, this.id, command, options))) as ResultPromise;
  }

  /** Starts a command in the background. It goes on when this process ends, without a timeout unless one is given. */
  async spawn(command: CommandLine, options: SpawnOptions = {}): Promise<Command> {
    const { id } = await this.#caller.explained(start(this.#caller.connection, this.id, command, options));
    return this.command(id);
  }

  /** Attaches to a command that was started earlier, here or in another process. */
  command(id: string): Command {
    return new Command(this.#caller.connection, id, (error) => this.#caller.explain(error));
  }

  /** The commands of the sandbox, newest first, without their output. */
  commands(
    options: RequestOptions & { readonly status?: ExecutionSummary['status'] | undefined } = {},
  ): Listing<ExecutionSummary> {
    const { status, ...others } = options;
    const call = { path: path`/sandboxes/${this.id}/executions`, query: { status }, ...others };
    return listing(this.#caller.connection, call, (summary: ExecutionSummary) => summary);
  }

  /** Opens a terminal with a login shell, or joins one with `session`. */
  terminal(options: TerminalOptions = {}): Promise<Terminal> {
    return this.#caller.explained(openTerminal(this.#caller, options));
  }

  /** What the sandbox uses at this moment. */
  stats(options: RequestOptions = {}): Promise<Stats> {
    return this.#caller.request({ method: 'GET', path: '/stats', repeatable: true, ...options });
  }

  /** What the sandbox uses, measured every two seconds unless given, until it ends. */
  watchStats(options: WatchStatsOptions = {}): AsyncGenerator<Stats, void> {
    return watchStats(this.#caller, options);
  }

  /** Moves the expiry later, by 15 minutes unless given. */
  async extend(minutes?: number, options: RequestOptions = {}): Promise<SandboxInfo> {
    const body = minutes === undefined ? {} : { additional_minutes: minutes };
    this.#info = await this.#caller.request({ method: 'POST', path: '/extend', body, repeatable: false, ...options });
    return this.#info;
  }

  /** Saves memory and disk at one instant; the sandbox goes on. Create sandboxes from it with `snapshotId`. */
  snapshot({ name, alias, ...options }: SnapshotOptions = {}): Promise<Snapshot> {
    const headers = { 'idempotency-key': newIdempotencyKey() };
    const call = { method: 'POST', path: '/snapshots', body: { name, alias }, headers, repeatable: true } as const;
    return this.#caller.request({ ...call, slow: true, ...options });
  }

  /** Makes copies of the sandbox as it is: memory, processes and files. Throws if none could be made. */
  async fork({ count, name, lifetimeMinutes, ...options }: ForkOptions = {}): Promise<Forks> {
    const body = { count, name, timeout_minutes: lifetimeMinutes };
    const call = { method: 'POST', path: '/fork', body, repeatable: false, slow: true, ...options } as const;
    const { data } = await this.#caller.request<{ data: readonly ForkResult[] }>(call);
    return {
      sandboxes: data.flatMap(({ sandbox }) => (sandbox ? [new Sandbox(this.#caller.connection, sandbox)] : [])),
      errors: data.flatMap(({ error }) => (error ? [error] : [])),
    };
  }

  /** Puts the sandbox back into the state of a snapshot of itself. Commands that are running fail. */
  async rollback(snapshot: string | Snapshot, options: RequestOptions = {}): Promise<SandboxInfo> {
    const body = { snapshot_id: typeof snapshot === 'string' ? snapshot : snapshot.id };
    const call = { method: 'POST', path: '/rollback', body, repeatable: true, slow: true, ...options } as const;
    this.#info = await this.#caller.request(call);
    return this.#info;
  }

  /** Destroys the sandbox and everything in it. One that has ended already is no error. */
  async delete(options: RequestOptions = {}): Promise<void> {
    try {
      await this.#caller.remove({ path: '', ...options });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
    }
  }

  /** For `await using`: destroys the sandbox at the end of the block. */
  async [asyncDispose](): Promise<void> {
    await this.delete();
  }

  /** The record, for JSON.stringify. */
  toJSON(): SandboxInfo {
    return this.#info;
  }
}

interface ForkResult {
  readonly sandbox: SandboxInfo | null;
  readonly error: { readonly type: string; readonly message: string } | null;
}
