import { AnsiReader, type Style } from './ansi.ts';

/** From where in a line on a style applies. */
export interface Mark {
  readonly from: number;
  readonly style: Style;
}

export type Line =
  | { readonly kind: 'text'; readonly text: string; readonly marks: readonly Mark[]; readonly isContinued: boolean }
  /** Output that the service no longer had. */
  | { readonly kind: 'gap'; readonly bytes: number };

interface Limits {
  readonly characters: number;
  readonly lines: number;
  /** A longer line goes on in the next one. */
  readonly lineCharacters: number;
}

/** What a page can hold and still be quick. */
const defaultLimits: Limits = { characters: 4 * 1024 * 1024, lines: 100_000, lineCharacters: 2_000 };

/** So much more than allowed is held, so that lines are dropped many at a time. */
const slack = 1.1;

/** Lines of one style share their marks. */
const singleMarks = new Map<Style, readonly Mark[]>();

function marksOf(style: Style): readonly Mark[] {
  let marks = singleMarks.get(style);
  if (!marks) {
    marks = [{ from: 0, style }];
    singleMarks.set(style, marks);
  }
  return marks;
}

/** The last part of a command's output as lines. Both streams are in one sequence, as in a terminal. */
export class OutputBuffer {
  #lines: Line[] = [];
  #firstLine = 0;
  #characters = 0;
  #droppedCharacters = 0;
  #missingBytes = 0;
  #text = '';
  #marks: readonly Mark[] = [];
  #isReturned = false;
  #readers = { stdout: new AnsiReader('stdout'), stderr: new AnsiReader('stderr') };
  readonly #limits: Limits;

  constructor(limits: Limits = defaultLimits) {
    this.#limits = limits;
  }

  /** The number of the first line that is held; earlier ones were dropped. */
  get firstLine(): number {
    return this.#firstLine;
  }

  /** How many lines are held, with the one that has not ended. */
  get lineCount(): number {
    return this.#lines.length + (this.#text === '' ? 0 : 1);
  }

  /** Characters that were dropped here to stay within the limits. */
  get droppedCharacters(): number {
    return this.#droppedCharacters;
  }

  /** Bytes that were dropped before they could be read. */
  get missingBytes(): number {
    return this.#missingBytes;
  }

  /** Returns the line with this number; undefined if it is not held. */
  line(number: number): Line | undefined {
    const index = number - this.#firstLine;
    if (index === this.#lines.length && this.#text !== '') return this.#openLine(false);
    return this.#lines[index];
  }

  append(stream: Style['stream'], output: string): void {
    for (const piece of this.#readers[stream].read(output)) {
      if (piece.kind === 'text') this.#write(piece.text, piece.style);
      else if (piece.kind === 'newline') this.#endLine(false);
      else if (piece.kind === 'return') this.#isReturned = true;
      else if (this.#isReturned) this.#clearLine();
    }
    this.#drop();
  }

  appendGap(bytes: number): void {
    if (this.#text !== '') this.#endLine(false);
    this.#lines.push({ kind: 'gap', bytes });
    this.#missingBytes += bytes;
    // What a sequence or a line began with is missing too.
    this.#readers = { stdout: new AnsiReader('stdout'), stderr: new AnsiReader('stderr') };
    this.#drop();
  }

  clear(): void {
    this.#lines = [];
    this.#firstLine = 0;
    this.#characters = 0;
    this.#droppedCharacters = 0;
    this.#missingBytes = 0;
    this.#clearLine();
    this.#readers = { stdout: new AnsiReader('stdout'), stderr: new AnsiReader('stderr') };
  }

  /** What is held, without colours. */
  text(): string {
    const parts: string[] = [];
    for (let number = this.#firstLine; number < this.#firstLine + this.lineCount; number += 1) {
      const line = this.line(number);
      if (line?.kind === 'gap') parts.push(`[${line.bytes} bytes of output were dropped]\n`);
      if (line?.kind === 'text') parts.push(line.text, line.isContinued ? '' : '\n');
    }
    // A last line that has not ended has no newline.
    return this.#text === '' ? parts.join('') : parts.join('').slice(0, -1);
  }

  /** A text after a carriage return replaces the line, as progress bars do. */
  #write(text: string, style: Style): void {
    if (this.#isReturned) this.#clearLine();
    let rest = text;
    while (rest !== '') {
      const room = this.#limits.lineCharacters - this.#text.length;
      const length = rest.length <= room ? rest.length : breakBefore(rest, room);
      this.#marks =
        this.#text === ''
          ? marksOf(style)
          : this.#marks.at(-1)?.style === style
            ? this.#marks
            : [...this.#marks, { from: this.#text.length, style }];
      this.#text += rest.slice(0, length);
      rest = rest.slice(length);
      if (rest !== '') this.#endLine(true);
    }
  }

  #openLine(isContinued: boolean): Line {
    return { kind: 'text', text: this.#text, marks: this.#marks, isContinued };
  }

  #endLine(isContinued: boolean): void {
    this.#lines.push(this.#openLine(isContinued));
    this.#characters += this.#text.length + 1;
    this.#clearLine();
  }

  #clearLine(): void {
    this.#text = '';
    this.#marks = [];
    this.#isReturned = false;
  }

  #drop(): void {
    const { characters, lines } = this.#limits;
    if (this.#characters <= characters * slack && this.#lines.length <= lines * slack) return;
    let count = 0;
    while (this.#lines.length - count > lines || this.#characters > characters) {
      const line = this.#lines[count];
      if (!line) break;
      const length = line.kind === 'text' ? line.text.length + 1 : 0;
      this.#characters -= length;
      this.#droppedCharacters += length;
      count += 1;
    }
    this.#lines = this.#lines.slice(count);
    this.#firstLine += count;
  }
}

/** Returns where to break a text so that no character of two code units is split. At least one unit is taken. */
function breakBefore(text: string, length: number): number {
  const unit = text.charCodeAt(length - 1);
  const isSplit = unit >= 0xd800 && unit <= 0xdbff;
  return Math.max(1, isSplit ? length - 1 : length);
}
