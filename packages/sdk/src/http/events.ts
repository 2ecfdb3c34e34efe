import { ConnectionError } from '../errors.ts';
import { startTimer } from './timer.ts';

/** One server-sent event. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

export interface ReadOptions {
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long nothing may come before the connection counts as dead. */
  readonly silenceMs?: number;
  /** Called whenever something arrives, also comments. */
  readonly onBytes?: () => void;
}

/** The service sends at least a comment every 15 s, so that a silence this long means a dead connection. */
const longestSilenceMs = 60_000;

/**
 * Reads the events of a stream as they arrive, no faster than the caller takes them. Ends when the stream ends; throws a ConnectionError when it is cut
 * or silent, and the reason of the signal when it aborts.
 */
export async function* readEvents(response: Response, options: ReadOptions = {}): AsyncGenerator<StreamEvent, void> {
  const { signal, silenceMs = longestSilenceMs, onBytes } = options;
  if (response.body === null) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await nextChunk(reader, silenceMs, signal);
      if (done) return;
      onBytes?.();
      yield* parser.push(value);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
  signal: AbortSignal | undefined,
) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let abort = () => {};
  try {
    return await new Promise<Awaited<ReturnType<typeof reader.read>>>((resolve, reject) => {
      signal?.throwIfAborted();
      abort = () => reject(signal?.reason);
      signal?.addEventListener('abort', abort, { once: true });
      timer = startTimer(
        () => reject(new ConnectionError(`The stream was silent for ${silenceMs} ms.`, { mayHaveHappened: true })),
        silenceMs,
      );
      reader.read().then(resolve, (cause: unknown) => {
        const reason = cause instanceof Error ? cause.message : String(cause);
        reject(new ConnectionError(`The stream was cut: ${reason}.`, { cause, mayHaveHappened: true }));
      });
    });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Splits the bytes of a stream into events. Comments and events without data are left out. */
export class EventParser {
  readonly #decoder = new TextDecoder();
  #text = '';
  /** Where the search for the end of an event goes on. */
  #searched = 0;

  *push(bytes: Uint8Array): Generator<StreamEvent, void> {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    let start = 0;
    for (;;) {
      const end = this.#text.indexOf('\n\n', Math.max(this.#searched, start));
      if (end < 0) break;
      const event = parseEvent(this.#text.slice(start, end));
      start = end + 2;
      this.#searched = start;
      if (event !== undefined) yield event;
    }
    this.#text = this.#text.slice(start);
    this.#searched = Math.max(this.#text.length - 1, 0);
  }
}

function parseEvent(text: string): StreamEvent | undefined {
  let id: string | undefined;
  let event = 'message';
  const data: string[] = [];
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'id') id = value;
    else if (name === 'event') event = value;
    else if (name === 'data') data.push(value);
  }
  return data.length === 0 ? undefined : { id, event, data: data.join('\n') };
}
