/** One event of a stream. */
export interface StreamEvent {
  readonly type: string;
  /** The value of its JSON. */
  readonly data: unknown;
  /** Where to go on after it; undefined if no event so far had an id. */
  readonly id: string | undefined;
}

const lineEnd = /\r\n|\r|\n/;

/** Reads a `text/event-stream` piece by piece. Comments, and events whose data is not JSON, are ignored. */
export class EventParser {
  #rest = '';
  #type = '';
  #data: string[] = [];
  #id: string | undefined;

  constructor(lastEventId?: string) {
    this.#id = lastEventId;
  }

  /** Returns the events that are complete with this text. */
  read(text: string): readonly StreamEvent[] {
    const held = this.#rest + text;
    // A CR at the end may be the first half of a line end.
    const isSplit = held.endsWith('\r');
    const lines = (isSplit ? held.slice(0, -1) : held).split(lineEnd);
    this.#rest = (lines.pop() ?? '') + (isSplit ? '\r' : '');
    return lines.flatMap((line) => this.#readLine(line) ?? []);
  }

  #readLine(line: string): StreamEvent | undefined {
    if (line === '') return this.#finish();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#type = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return undefined;
  }

  #finish(): StreamEvent | undefined {
    const type = this.#type || 'message';
    const text = this.#data.join('\n');
    this.#type = '';
    this.#data = [];
    if (text === '') return undefined;
    try {
      return { type, data: JSON.parse(text), id: this.#id };
    } catch {
      return undefined;
    }
  }
}
