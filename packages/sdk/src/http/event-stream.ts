import { ConnectionError } from '../errors.ts';
import type { Call, Connection, RequestOptions } from './connection.ts';
import { readEvents, type StreamEvent } from './events.ts';
import { requestStream } from './request.ts';
import { mayBeRepeated } from './retry.ts';
import { pause } from './timer.ts';

/** A stream of events that is open. */
export interface EventStream {
  readonly response: Response;
  readonly events: AsyncGenerator<StreamEvent, void>;
  readonly openedAtMs: number;
  /** When something last arrived, also a comment. */
  heardAtMs: number;
}

/** A stream on which the service was heard for this long works, even if no event came. The service sends a comment every 15 s. */
const workingMs = 15_000;
const longestPauseMs = 5_000;

/** Opens a stream of events. */
export function openStream(connection: Connection, call: Call): Promise<EventStream> {
  return requestStream(connection, call, async (response) => streamOf(response, call.signal));
}

/** Starts to read a response. */
export function streamOf(response: Response, signal: AbortSignal | undefined): EventStream {
  const openedAtMs = Date.now();
  const onBytes = () => {
    stream.heardAtMs = Date.now();
  };
  const events = readEvents(response, { signal, onBytes });
  const stream: EventStream = { response, events, openedAtMs, heardAtMs: openedAtMs };
  return stream;
}

interface ReconnectOptions {
  readonly signal: AbortSignal | undefined;
  /** Opens the stream again. */
  readonly open: (options: RequestOptions) => Promise<EventStream>;
  /** The error of a stream that could not be reopened in time. */
  readonly lost: (cause: unknown) => ConnectionError;
}

/** Reopens a stream until it makes progress again, or has made none for too long. */
export class Reconnecting {
  readonly #connection: Connection;
  readonly #options: ReconnectOptions;
  readonly #limitMs: number;
  #failures = 0;
  #giveUpAtMs: number | undefined;

  constructor(connection: Connection, options: ReconnectOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#limitMs = Math.min(connection.reconnectMs, connection.deadlineMs ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Opens the stream again after an error of it. After progress, which is an event that says something new or a time in which the service was heard, it
   * is a new failure. Throws errors that are no lost connections as they are, and `lost` if there is no time left.
   */
  async reopen(stream: EventStream, error: unknown, hasAdvanced: boolean): Promise<EventStream> {
    if (!(error instanceof ConnectionError)) throw error;
    if (hasAdvanced || stream.heardAtMs - stream.openedAtMs >= workingMs) {
      this.#failures = 0;
      this.#giveUpAtMs = undefined;
    }
    const { signal, open, lost } = this.#options;
    this.#giveUpAtMs ??= Date.now() + this.#limitMs;
    for (let failure: unknown = error; ; ) {
      const pauseMs = Math.min(this.#connection.retryDelayMs * 2 ** this.#failures, longestPauseMs);
      const jitteredMs = pauseMs * (0.5 + Math.random() / 2);
      const deadlineMs = this.#giveUpAtMs - Date.now() - jitteredMs;
      if (this.#connection.maxRetries === 0 || deadlineMs <= 0) throw lost(failure);
      this.#failures += 1;
      await pause(jitteredMs, signal);
      try {
        return await open({ signal, maxRetries: 0, deadlineMs });
      } catch (thrown) {
        signal?.throwIfAborted();
        if (!mayBeRepeated(thrown, true)) throw thrown;
        failure = thrown;
      }
    }
  }
}
