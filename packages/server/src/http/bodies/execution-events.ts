import { isUtf8 } from 'node:buffer';
import type { LiveEvent } from '../../core/executions/live/follow.ts';
import { eventText, keepAliveComment, keepAliveMs, orSilence } from './event-stream.ts';
import type { ResponseJson } from './json-pieces.ts';

/** How the events of an execution are written. */
export interface ExecutionEventOptions {
  readonly executionId: string;
  /** The JSON of the exit event. */
  readonly exitJson: (event: Extract<LiveEvent, { kind: 'exit' }>) => ResponseJson;
  readonly silenceMs?: number;
  /** How long the rest of a character may take to arrive. */
  readonly characterMs?: number;
}

/** The id of the exit event. All others are positions. */
export const exitEventId = 'exit';

/** The events of an execution as text, with comments while there are none. */
export async function* executionEventTexts(
  events: AsyncGenerator<LiveEvent, void>,
  { executionId, exitJson, silenceMs = keepAliveMs, characterMs = 20 }: ExecutionEventOptions,
): AsyncGenerator<string, void> {
  const output = new OutputText();
  for await (const event of orSilence(events, () => (output.isHolding ? characterMs : silenceMs))) {
    if (event === undefined) {
      yield output.isHolding ? output.flush() : keepAliveComment;
      continue;
    }
    if ('bytes' in event) {
      const text = output.push(event);
      if (text !== '') yield text;
      continue;
    }
    const held = output.flush();
    if (held !== '') yield held;
    if (event.kind === 'start') yield eventText('0', 'start', { id: executionId });
    else if (event.kind === 'gap') yield eventText(event.position, 'gap', { bytes: event.lostBytes });
    else yield* exitText(exitJson(event));
  }
}

async function* exitText(json: ResponseJson): AsyncGenerator<string, void> {
  yield `id: ${exitEventId}\nevent: exit\ndata: `;
  if (typeof json === 'string') yield json;
  else for await (const piece of json) yield (piece as Buffer).toString();
  yield '\n\n';
}

type OutputEvent = Extract<LiveEvent, { bytes: Uint8Array }>;

/**
 * Writes output as events: as text where it is UTF-8, and in base64 where it is not. A character whose end has not arrived is held back, and
 * written before anything else is.
 */
export class OutputText {
  #held: OutputEvent | undefined;

  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  /** The events that can be written now; may be empty. */
  push(event: OutputEvent): string {
    const held = this.#held;
    if (held === undefined) return this.#write(event);
    if (held.kind !== event.kind) return this.flush() + this.#write(event);
    this.#held = undefined;
    return this.#write({ ...event, bytes: Buffer.concat([held.bytes, event.bytes]) });
  }

  /** Writes what is held back. */
  flush(): string {
    const held = this.#held;
    this.#held = undefined;
    return held === undefined ? '' : encodedEvent(held);
  }

  #write({ kind, bytes, position }: OutputEvent): string {
    const length = wholeCharacters(bytes);
    const whole = bytes.subarray(0, length);
    if (!isUtf8(whole)) return encodedEvent({ kind, bytes, position });
    if (length < bytes.length) this.#held = { kind, bytes: Buffer.from(bytes.subarray(length)), position };
    if (length === 0) return '';
    const data = Buffer.from(whole.buffer, whole.byteOffset, whole.length).toString('utf8');
    return eventText(position - (bytes.length - length), kind, { data });
  }
}

function encodedEvent({ kind, bytes, position }: OutputEvent): string {
  return eventText(position, kind, { data: Buffer.from(bytes).toString('base64'), encoding: 'base64' });
}

/** The length of the bytes without a UTF-8 character at their end that is not complete. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) {
      const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return needed > back ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}
