import type { GuestEntry, GuestListing, Reserve } from '../../core/ports/guest-agent.ts';
import { ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';
import { countAnswer } from './reserved-answer.ts';
import { listingEntries, listingPath } from './schemas.ts';
import { parseGuestJson, type Sink } from './sinks.ts';

/** Cannot occur inside the path before it: there, quotes are escaped. */
const entriesStart = ',"entries":[';
const pathJsonLength = 65_536;
const tail = /^,"truncated":(true|false)\}\s{0,8}$/;
const tailLength = 64;

/**
 * Reads a directory listing entry by entry as it arrives, with the fields in the order of docs/agent-protocol.md. Parsing 50,000 entries at
 * once would hold the event loop for half a second.
 */
export function listingSink(maxEntries: number, reserve?: Reserve): Sink<GuestListing> {
  const count = countAnswer(listingBytes(maxEntries), reserve);
  const parser = new ListingParser(maxEntries);
  return {
    push(chunk) {
      count(chunk.length);
      parser.push(chunk);
    },
    finish: () => parser.finish(),
  };
}

/** The most bytes that a listing may have. */
export function listingBytes(maxEntries: number): number {
  return guestLimits.jsonBytes + maxEntries * guestLimits.entryJsonBytes;
}

/** The error does not say what is wrong: that would depend on how the listing is cut into chunks. */
function malformed(): ProtocolViolation {
  return new ProtocolViolation('a malformed listing');
}

class ListingParser {
  readonly #maxEntries: number;
  readonly #entries: GuestEntry[] = [];
  #part: 'path' | 'entries' | 'tail' = 'path';
  /** What has arrived of the current part and is not parsed yet: bytes as Latin-1. */
  #rest = '';

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  push(chunk: Buffer): void {
    this.#rest += chunk.toString('latin1');
    if (this.#part === 'path') this.#takePath();
    if (this.#part === 'entries') this.#takeEntries();
    const longest = { path: pathJsonLength, entries: guestLimits.entryJsonBytes, tail: tailLength }[this.#part];
    if (this.#rest.length > longest) throw malformed();
  }

  finish(): GuestListing {
    const truncated = this.#part === 'tail' ? tail.exec(this.#rest)?.[1] : undefined;
    if (truncated === undefined) throw malformed();
    return { entries: this.#entries, truncated: truncated === 'true' };
  }

  #takePath(): void {
    const end = this.#rest.indexOf(entriesStart);
    if (end < 0) return;
    if (end > pathJsonLength) throw malformed();
    parse(`${this.#rest.slice(0, end)}}`, listingPath);
    this.#rest = this.#rest.slice(end + entriesStart.length);
    this.#part = 'entries';
  }

  /** Takes the entries that have arrived completely. No valid entry contains a brace or bracket inside. */
  #takeEntries(): void {
    const end = this.#rest.indexOf(']');
    const complete = end < 0 ? this.#rest.lastIndexOf('},') + 1 : end;
    if (complete > 0) {
      for (const entry of parse(`[${this.#rest.slice(0, complete)}]`, listingEntries)) this.#entries.push(entry);
      if (this.#entries.length > this.#maxEntries) throw malformed();
    }
    if (end >= 0) this.#part = 'tail';
    if (end >= 0 || complete > 0) this.#rest = this.#rest.slice(complete + 1);
  }
}

function parse<T>(json: string, schema: Parameters<typeof parseGuestJson<T>>[1]): T {
  try {
    return parseGuestJson(Buffer.from(json, 'latin1'), schema);
  } catch {
    throw malformed();
  }
}
