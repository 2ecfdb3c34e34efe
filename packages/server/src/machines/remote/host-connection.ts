import type { Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import PQueue from 'p-queue';
import type { z } from 'zod';
import { machineDeadlines } from '../../core/ports/machine-deadlines.ts';
import { HostUnavailable, type MachineExit } from '../../core/ports/machine-driver.ts';
import { withDeadline } from '../../core/scheduling/deadline.ts';
import { connectOnce } from '../../system/unix-sockets.ts';
import { parseMessage, readLines, sendMessage } from '../protocol/message-stream.ts';
import {
  type FailureCode,
  type HostCall,
  type HostGreeting,
  type HostMessage,
  hostGreeting,
  hostMessage,
  maxCallsInFlight,
  maxHostMessageBytes,
  maxSavesInFlight,
  ownHello,
  protocolVersion,
  results,
} from '../protocol/messages.ts';

/** A call that the host process answered with a failure. */
export class HostCallFailed extends Error {
  override readonly name = 'HostCallFailed';
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The host process speaks another version of the protocol. Only a restart of one side helps. */
export class HostVersionMismatch extends HostUnavailable {
  constructor(hostVersion: number) {
    super(
      `The host process speaks version ${hostVersion} of the host protocol, this service version ${protocolVersion}. Restart both from the same Mayfly.`,
    );
    this.name = 'HostVersionMismatch';
  }
}

/** What the host process sends on its own. */
export interface HostEvents {
  memory(leftBytes: number): void;
  exited(machineId: string, exit: MachineExit): void;
}

export interface HostConnectionOptions {
  readonly socketPath: string;
  readonly events: HostEvents;
  /** How long the host process may send nothing before it counts as hanging. */
  readonly silenceMs?: number | undefined;
  /** Ends the connection, also while it is being opened. */
  readonly signal?: AbortSignal | undefined;
}

type WithoutId<C> = C extends HostCall ? Omit<C, 'id'> : never;
type CallName = HostCall['call'];
type CallOf<N extends CallName> = WithoutId<HostCall> & { readonly call: N };

interface Pending {
  readonly result: z.ZodType;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export interface CallOptions<T> {
  readonly signal?: AbortSignal | undefined;
  /** Called with the result before any later message of the host process is handled. */
  readonly onResult?: (result: T) => void;
}

/** The host process sends something four times a second. One that is silent for this long hangs, however slow the machine is. */
export const defaultSilenceMs = 30_000;

const { greetingMs, callMs, saveMs } = machineDeadlines.connection;

/** One connection to the host process. All calls fail with HostUnavailable once it is closed. */
export class HostConnection {
  readonly driver: Extract<HostGreeting, { driver: unknown }>['driver'];
  /** Resolves with the reason when the connection is gone; never rejects. */
  readonly closed: Promise<Error>;
  readonly #socket: Socket;
  readonly #events: HostEvents;
  readonly #pending = new Map<number, Pending>();
  /** One place is left for cancelling. */
  readonly #queue = new PQueue({ concurrency: maxCallsInFlight - 1 });
  /** Saves wait here for each other, so that none of them delays another call. */
  readonly #saves = new PQueue({ concurrency: maxSavesInFlight });
  readonly #silence: NodeJS.Timeout;
  #lastId = 0;

  private constructor(
    socket: Socket,
    lines: AsyncIterable<string>,
    greeting: HostGreeting,
    { events, silenceMs = defaultSilenceMs }: HostConnectionOptions,
  ) {
    if (!('driver' in greeting)) throw new HostVersionMismatch(greeting.version);
    this.#socket = socket;
    this.#events = events;
    this.driver = greeting.driver;
    events.memory(greeting.memory_left_bytes ?? Number.POSITIVE_INFINITY);
    // Not the timeout of the socket, which starts again whenever this side sends something.
    this.#silence = setTimeout(
      () => socket.destroy(new Error(`the host process was silent for ${silenceMs} ms`)),
      silenceMs,
    );
    this.closed = this.#read(lines);
  }

  /** Connects and introduces this service. Throws HostVersionMismatch, or whatever keeps it from connecting. */
  static async open(options: HostConnectionOptions): Promise<HostConnection> {
    const { socketPath, signal } = options;
    signal?.throwIfAborted();
    const socket = await connectOnce(socketPath);
    socket.on('error', () => {});
    if (signal) addAbortSignal(signal, socket);
    try {
      sendMessage(socket, ownHello);
      const lines = readLines(socket, maxHostMessageBytes);
      const first = await withDeadline('the greeting of the host process', greetingMs, lines.next());
      if (first.done === true) throw new Error('the host process closed the connection');
      return new HostConnection(socket, lines, parseMessage(first.value, hostGreeting), options);
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  /** Sends one call and returns its result. Aborting a launch cancels it; the call still waits for the answer. */
  async call<N extends CallName>(
    call: CallOf<N>,
    { signal, onResult }: CallOptions<ResultOf<N>> = {},
  ): Promise<ResultOf<N>> {
    const queue = call.call === 'save' ? this.#saves : this.#queue;
    const deadlineMs = call.call === 'save' ? saveMs : callMs;
    return await queue.add(async () => {
      signal?.throwIfAborted();
      const id = this.#nextId();
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const settle = (result: unknown): void => {
        onResult?.(result as ResultOf<N>);
        resolve(result);
      };
      const cancel = (): void => sendMessage(this.#socket, { id: this.#nextId(), call: 'cancel', launch: id });
      if (!this.#socket.writable) throw connectionLost();
      this.#pending.set(id, { result: resultOf(call.call), resolve: settle, reject });
      signal?.addEventListener('abort', cancel, { once: true });
      sendMessage(this.#socket, { id, ...call });
      try {
        return (await withDeadline(
          `the answer of the host process to "${call.call}"`,
          deadlineMs,
          promise,
        )) as ResultOf<N>;
      } finally {
        signal?.removeEventListener('abort', cancel);
        this.#pending.delete(id);
      }
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  async #read(lines: AsyncIterable<string>): Promise<Error> {
    let reason = new Error('the host process closed the connection');
    try {
      for await (const line of lines) {
        this.#silence.refresh();
        this.#handle(parseMessage(line, hostMessage));
      }
    } catch (error) {
      reason = error instanceof Error ? error : new Error(String(error));
    }
    clearTimeout(this.#silence);
    this.#socket.destroy();
    for (const { reject } of this.#pending.values()) reject(connectionLost(reason));
    this.#pending.clear();
    return reason;
  }

  #handle(message: HostMessage): void {
    if ('event' in message) {
      if (message.event === 'memory') this.#events.memory(message.left_bytes ?? Number.POSITIVE_INFINITY);
      else this.#events.exited(message.machine, message.exit);
      return;
    }
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if ('error' in message) pending.reject(new HostCallFailed(message.error.code, message.error.message));
    else pending.resolve(pending.result.parse(message.ok));
  }
}

type ResultOf<N extends CallName> = z.infer<N extends keyof typeof results ? (typeof results)[N] : typeof results.none>;

function resultOf(call: CallName): z.ZodType {
  return call in results ? results[call as keyof typeof results] : results.none;
}

function connectionLost(cause?: Error): HostUnavailable {
  return new HostUnavailable('the connection to the host process was lost', { cause });
}
