import { encodeBase64 } from '../api/base64.ts';
import type { Execution, ExecutionSummary, SignalName } from '../api/resources.ts';
import { type Connection, path, type RequestOptions } from '../http/connection.ts';
import { request } from '../http/request.ts';
import { type FollowOptions, follow, type Reading } from './follow.ts';
import type { Output } from './output.ts';
import type { CommandResult } from './result.ts';

export interface OutputOptions extends FollowOptions {
  /** Continues after this position instead of replaying the output from its beginning. */
  readonly after?: string | undefined;
}

/** What fits into a request in base64. */
const stdinPieceBytes = 512 * 1024;

/**
 * A command that runs in the background, whether or not anybody watches it. Iterate over it to read its output from the beginning, as often as you
 * like; every reading survives lost connections. Another process attaches with `sandbox.command(id)`.
 */
export class Command implements AsyncIterable<Output> {
  /** The id of the execution. */
  readonly id: string;
  readonly #connection: Connection;
  readonly #explain: Explain;
  #position: string | undefined;
  /** The input that is on its way. */
  #input: Promise<void> = Promise.resolve();

  /** Commands are made by `sandbox.spawn` and `sandbox.command`. */
  constructor(connection: Connection, id: string, explain: Explain) {
    this.#connection = connection;
    this.id = id;
    this.#explain = explain;
  }

  /** How far the latest reading has come. Pass it as `after` to continue from there, also in another process. */
  get position(): string | undefined {
    return this.#position;
  }

  [Symbol.asyncIterator](): AsyncIterator<Output, CommandResult> {
    return this.output();
  }

  /** Reads the output as it is printed, until the command ends. */
  async *output({ after, signal, onConnection }: OutputOptions = {}): AsyncGenerator<Output, CommandResult> {
    const reading: Reading = { executionId: this.id, position: after, missedBytes: 0 };
    const outputs = follow(this.#connection, reading, { signal, onConnection });
    try {
      for (;;) {
        const step = await outputs.next();
        this.#position = reading.position;
        if (step.done) return step.value;
        yield step.value;
      }
    } catch (error) {
      throw await this.#explain(error);
    } finally {
      await outputs.return(undefined as never);
    }
  }

  /** Waits for the command to end. Aborting the signal ends the waiting, not the command. */
  async wait(options: FollowOptions = {}): Promise<CommandResult> {
    const outputs = this.output(options);
    for (;;) {
      const step = await outputs.next();
      if (step.done) return step.value;
    }
  }

  /** The record of the command at this moment. */
  info(options: RequestOptions = {}): Promise<Execution> {
    return request(this.#connection, {
      method: 'GET',
      path: path`/executions/${this.id}`,
      repeatable: true,
      ...options,
    });
  }

  /** Sends a signal to all processes of the command. It decides how to react, except to `KILL`. */
  kill(signal: SignalName = 'TERM', options: RequestOptions = {}): Promise<ExecutionSummary> {
    return this.#post('kill', { signal }, options);
  }

  /** Writes to the standard input, after what was written before. Waits while the command reads slowly. */
  write(data: string | Uint8Array, options: RequestOptions = {}): Promise<void> {
    const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
    return this.#afterInput(() => this.#send(bytes, options));
  }

  /** Closes the standard input: the command reads its end after what was written. */
  closeStdin(options: RequestOptions = {}): Promise<void> {
    return this.#afterInput(() => this.#post('stdin', { close: true }, options));
  }

  /** Waits for what was written before, also if nobody awaited it. */
  #afterInput(work: () => Promise<void>): Promise<void> {
    const done = this.#input.then(work);
    this.#input = done.catch(() => undefined);
    return done;
  }

  async #send(bytes: Uint8Array, options: RequestOptions): Promise<void> {
    for (let start = 0; start < bytes.length; start += stdinPieceBytes) {
      const piece = encodeBase64(bytes.subarray(start, start + stdinPieceBytes));
      await this.#post('stdin', { data: piece, encoding: 'base64' }, options);
    }
  }

  async #post<Body>(action: 'kill' | 'stdin', body: object, options: RequestOptions): Promise<Body> {
    const call = { method: 'POST', path: path`/executions/${this.id}/${action}`, body, ...options } as const;
    try {
      return await request<Body>(this.#connection, { ...call, repeatable: false });
    } catch (error) {
      throw await this.#explain(error);
    }
  }
}

/** Turns an error of a sandbox that has ended into one that says why. Returns others as they are. */
export type Explain = (error: unknown) => Promise<unknown>;
