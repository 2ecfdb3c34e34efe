import { noteAnswer, noteLostConnection, retryDelayMs } from './connection.ts';
import { EventParser, type StreamEvent } from './event-parser.ts';
import { failureOf, RequestFailure } from './failure.ts';
import { noteServerDate } from './server-clock.ts';

/** The service sends something every 15 seconds, so a stream that is silent for longer is lost. */
const silenceMs = 40_000;
const prefix = '/app/api';

export interface ReadEventsOptions {
  /** Ends the reading, without an error. */
  readonly signal: AbortSignal;
  /** Called for each event; `done` ends the reading. */
  readonly onEvent: (event: StreamEvent) => 'done' | undefined;
  /** Called whenever a connection is established: at first and after each loss. */
  readonly onOpen?: () => void;
  /** Called when the connection is lost; it is established again. */
  readonly onLost?: () => void;
  /** Goes on after the event with this id. */
  readonly lastEventId?: string;
}

/**
 * Reads a stream of events below /app/api until `onEvent` says that it is done or the signal is aborted. A lost connection is established again, after
 * the last event that was read. Throws RequestFailure if the service refuses it.
 */
export async function readEvents(path: string, options: ReadEventsOptions): Promise<void> {
  const { signal } = options;
  let { lastEventId } = options;
  let failures = 0;
  while (!signal.aborted) {
    let waitMs = retryDelayMs(failures);
    try {
      const end = await readOnce(path, lastEventId, {
        ...options,
        onOpen: () => {
          failures = 0;
          noteAnswer();
          options.onOpen?.();
        },
        onEvent: (event) => {
          lastEventId = event.id;
          return options.onEvent(event);
        },
      });
      if (end === 'done') return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof RequestFailure && !isTemporary(error)) throw error;
      if (!(error instanceof RequestFailure) || error.isConnection) noteLostConnection();
      if (error instanceof RequestFailure && error.retryAfterSeconds !== undefined) {
        waitMs = error.retryAfterSeconds * 1_000;
      }
    }
    options.onLost?.();
    failures += 1;
    await sleep(waitMs, signal);
  }
}

function isTemporary({ isConnection, status }: RequestFailure): boolean {
  return isConnection || status === 429 || status === 503;
}

/** Reads one connection to its end. */
async function readOnce(
  path: string,
  lastEventId: string | undefined,
  { signal, onOpen, onEvent }: ReadEventsOptions,
): Promise<'done' | 'cut'> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const connection = new AbortController();
  try {
    const response = await fetch(`${prefix}${path}`, {
      signal: AbortSignal.any([signal, silence.signal, connection.signal]),
      credentials: 'same-origin',
      cache: 'no-store',
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
    });
    noteServerDate(response.headers.get('date'));
    if (!response.ok || response.body === null) throw await failureIn(response);
    onOpen?.();
    const parser = new EventParser(lastEventId);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 'cut';
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silenceMs);
      for (const event of parser.read(value)) {
        if (signal.aborted || onEvent(event) === 'done') return 'done';
      }
    }
  } finally {
    clearTimeout(timer);
    connection.abort();
  }
}

async function failureIn(response: Response): Promise<RequestFailure> {
  const body: unknown = await response.json().catch(() => undefined);
  return failureOf(response.status, response.headers, body);
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = () => {
    clearTimeout(timer);
    resolve();
  };
  signal.addEventListener('abort', stop, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', stop));
}
