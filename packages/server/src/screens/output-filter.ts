import { nextState, type VtState, vt } from './vt-parser.ts';

const firstJoining = 0x300;
const joining = /[\p{M}\p{Cf}\u06de\u1160-\u11ff]/u;

/** Whether a character takes no cell of its own. xterm.js appends these to the cell before, without a limit. */
export const joinsCell = (codePoint: number): boolean =>
  codePoint >= firstJoining && joining.test(String.fromCodePoint(codePoint));

/** How many such characters in a row are kept. The others are dropped. */
export const maxJoinedCharacters = 16;

/** How much of an escape sequence is remembered until it ends. The longest in use have about 60 bytes. */
const maxSequenceBytes = 256;

const esc = 0x1b;

/** The states in which characters are the content of a string. */
const strings: ReadonlySet<VtState> = new Set([vt.oscString, vt.dcsPayload, vt.ignoredString]);

/**
 * Removes from terminal output what only costs memory: bytes that are not UTF-8, which xterm.js ignores too; the content of OSC and DCS strings
 * (titles, links, images, up to 10 MB each); and long runs of combining characters. Everything else passes unchanged.
 */
export class OutputFilter {
  #state: VtState = vt.ground;
  /** Combining characters since the last character that has a cell. */
  #joined = 0;
  /** The escape sequence that has not ended yet. */
  #sequence: number[] = [];
  /** The bytes of the character that is not complete yet. */
  #character: number[] = [];
  #missingBytes = 0;
  #codePoint = 0;

  /** Returns the bytes that remain. Characters that are not complete are held back until the next call. */
  filter(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    const output = new Uint8Array(this.#character.length + bytes.length);
    let length = 0;
    for (const byte of bytes) {
      if (byte < 0x80) {
        this.#missingBytes = 0;
        this.#character.length = 0;
        if (this.#accepts(byte)) output[length++] = byte;
      } else if (this.#completes(byte)) {
        if (this.#accepts(this.#codePoint)) for (const one of this.#character) output[length++] = one;
        this.#character.length = 0;
      }
    }
    return output.subarray(0, length);
  }

  /**
   * Returns the beginning of a character or an escape sequence that the output ended in. A terminal that goes on with the output has to be given
   * these bytes first.
   */
  unfinished(): Uint8Array {
    return Uint8Array.from([...this.#sequence, ...this.#character]);
  }

  /** Adds a byte of at least 0x80. Returns whether it is the last one of a valid character. */
  #completes(byte: number): boolean {
    if (byte >= 0xc0) {
      this.#missingBytes = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : byte < 0xf8 ? 3 : 0;
      this.#codePoint = byte & (0x3f >> this.#missingBytes);
      this.#character = this.#missingBytes > 0 ? [byte] : [];
      return false;
    }
    if (this.#missingBytes === 0) return false;
    this.#codePoint = (this.#codePoint << 6) | (byte & 0x3f);
    this.#character.push(byte);
    this.#missingBytes--;
    if (this.#missingBytes > 0) return false;
    if (isValid(this.#codePoint, this.#character.length)) return true;
    this.#character.length = 0;
    return false;
  }

  /** Moves the parser on. Returns whether the character is passed on. */
  #accepts(code: number): boolean {
    if (this.#state === vt.ground && code >= 0x20 && code < 0x7f) {
      this.#joined = 0;
      return true;
    }
    const before = this.#state;
    this.#state = nextState(before, code);
    if (before === vt.ground && code >= 0xa0) return this.#hasRoom(code);
    const isContent = this.#state === before && strings.has(before);
    this.#remember(code, isContent);
    return !isContent || before === vt.ignoredString;
  }

  #hasRoom(code: number): boolean {
    // Only a printed character starts a new count: control characters and broken sequences may leave xterm.js appending to the same cell.
    this.#joined = joinsCell(code) ? this.#joined + 1 : 0;
    return this.#joined <= maxJoinedCharacters;
  }

  #remember(code: number, isContent: boolean): void {
    if (this.#state === vt.ground) {
      this.#sequence.length = 0;
    } else if (code === esc) {
      this.#sequence = [code];
    } else if (code >= 0x80 && code < 0xa0) {
      this.#sequence = [0xc2, code];
    } else if (code >= 0x20 && code < 0x80 && !isContent && this.#sequence.length < maxSequenceBytes) {
      this.#sequence.push(code);
    }
  }
}

const minimums = [0, 0, 0x80, 0x800, 0x10000];

function isValid(codePoint: number, length: number): boolean {
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  const isByteOrderMark = codePoint === 0xfeff;
  return codePoint >= (minimums[length] ?? 0) && codePoint <= 0x10ffff && !isSurrogate && !isByteOrderMark;
}
