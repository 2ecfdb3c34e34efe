/** How a piece of output looks. */
export interface Style {
  readonly stream: 'stdout' | 'stderr';
  readonly colour: Colour;
  readonly isBold: boolean;
}

export type Colour = 'plain' | 'red' | 'green' | 'amber' | 'blue' | 'accent' | 'soft';

/** The eight colours of terminals, each as a colour of the page. */
const colours: readonly Colour[] = ['soft', 'red', 'green', 'amber', 'blue', 'accent', 'blue', 'plain'];

/** Pieces of the same style share one object, so that comparing them is cheap. */
const styles = new Map<string, Style>();

export function styleOf(stream: Style['stream'], colour: Colour = 'plain', isBold = false): Style {
  const key = `${stream} ${colour} ${isBold}`;
  let style = styles.get(key);
  if (!style) {
    style = { stream, colour, isBold };
    styles.set(key, style);
  }
  return style;
}

/** Text that is shown as it is, or a control that the output follows. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string; readonly style: Style }
  | { readonly kind: 'newline' | 'return' | 'erase' };

const esc = '\u001b';
const bell = '\u0007';
/** An escape sequence that is longer than this is no sequence. Operating system commands, such as titles and links, may be long. */
const longestSequence = 4_096;

/** A string such as a title, up to its end. */
const stringStart = `[\\]PX^_][^${bell}${esc}]*`;
/** CSI, strings, a character set, and sequences of two characters. */
const sequence = new RegExp(
  `${esc}(?:\\[([0-?]*)[ -/]*([@-~])|${stringStart}(?:${bell}|${esc}\\\\)|[ -/]+[0-~]|[0-OQ-WYZ\\\\\`-~])`,
  'y',
);
/** What may become a sequence with more text. */
const sequenceStart = new RegExp(`^${esc}(?:$|\\[[0-?]*[ -/]*$|${stringStart}${esc}?$|[ -/]+$)`);
const special = new RegExp(`[${esc}\\n\\r]`, 'g');
/** Controls that are not shown: they would be boxes, or change the direction of the text around them. */
const invisible = /(?!\t)\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Reads one stream of output piece by piece: colours are kept, other escape sequences are dropped. */
export class AnsiReader {
  #rest = '';
  #style: Style;

  constructor(stream: Style['stream']) {
    this.#style = styleOf(stream);
  }

  /** Returns the pieces of this text, except for an escape sequence that is not complete yet. */
  read(text: string): readonly Piece[] {
    const all = this.#rest + text;
    this.#rest = '';
    const pieces: Piece[] = [];
    let start = 0;
    special.lastIndex = 0;
    for (let match = special.exec(all); match; match = special.exec(all)) {
      this.#push(pieces, all.slice(start, match.index));
      start = match.index + 1;
      if (match[0] === '\n') pieces.push({ kind: 'newline' });
      else if (match[0] === '\r') pieces.push({ kind: 'return' });
      else if (match[0] === esc) {
        const end = this.#readSequence(all, match.index, pieces);
        if (end === undefined) return pieces;
        start = end;
      }
      special.lastIndex = start;
    }
    this.#push(pieces, all.slice(start));
    return pieces;
  }

  /** Returns where the sequence ends; undefined if more text is needed. What is no sequence ends after its escape character. */
  #readSequence(all: string, at: number, pieces: Piece[]): number | undefined {
    sequence.lastIndex = at;
    const match = sequence.exec(all);
    if (!match) {
      if (all.length - at > longestSequence || !sequenceStart.test(all.slice(at))) return at + 1;
      this.#rest = all.slice(at);
      return undefined;
    }
    const [text, parameters = '', final] = match;
    if (final === 'm') this.#style = restyled(this.#style, parameters);
    if (final === 'K' || final === 'J') pieces.push({ kind: 'erase' });
    return at + text.length;
  }

  #push(pieces: Piece[], text: string): void {
    const visible = text.replace(invisible, '');
    if (visible !== '') pieces.push({ kind: 'text', text: visible, style: this.#style });
  }
}

/** Returns the style after a "select graphic rendition" sequence. Colours that the page does not have are plain. */
function restyled(style: Style, parameters: string): Style {
  let { colour, isBold } = style;
  const codes = parameters === '' ? [0] : parameters.split(/[;:]/).map(Number);
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 0) [colour, isBold] = ['plain', false];
    else if (code === 1) isBold = true;
    else if (code === 2) colour = 'soft';
    else if (code === 22) isBold = false;
    else if (code === 39) colour = 'plain';
    else if (code >= 30 && code <= 37) colour = colours[code - 30] ?? 'plain';
    else if (code >= 90 && code <= 97) colour = colours[code - 90] ?? 'plain';
    else if (code === 38 || code === 48 || code === 58) {
      const [given, length] = extended(codes, index);
      if (code === 38) colour = given;
      index += length;
    }
  }
  return styleOf(style.stream, colour, isBold);
}

/** The colour that follows a 38, and how many codes it takes. */
function extended(codes: readonly number[], index: number): readonly [Colour, number] {
  if (codes[index + 1] === 2) return ['plain', 4];
  const number = codes[index + 2] ?? 0;
  return [number < 16 ? (colours[number % 8] ?? 'plain') : 'plain', 2];
}
