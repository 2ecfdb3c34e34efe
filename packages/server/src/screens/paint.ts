import type { IBuffer, IBufferCell, IBufferLine, IModes, Terminal } from '@xterm/headless';
import type { Regions } from './tracked-modes.ts';

// The serializer of xterm.js is not used: it loses bold beside dim, styles on the alternate screen, the cursor behind the last column, and moves
// the cursor in origin mode.

const defaultStyle = '\x1b[m';

/**
 * Collects what has to be printed for the rows of a buffer. Throws PaintingTooLong as soon as that exceeds a limit, so that a screen that is
 * expensive to describe costs no more than the limit.
 */
class Painting {
  #text = '';
  /** The style that the terminal prints in. */
  #style = defaultStyle;
  readonly #maxLength: number;
  readonly #cell: IBufferCell;
  readonly #cols: number;

  constructor(terminal: Terminal, maxLength: number) {
    this.#maxLength = maxLength;
    this.#cell = terminal.buffer.active.getNullCell();
    this.#cols = terminal.cols;
  }

  get text(): string {
    return this.#text;
  }

  print(text: string): void {
    this.#text += text;
    if (this.#text.length > this.#maxLength) throw new PaintingTooLong();
  }

  resetStyle(): void {
    this.print(this.#switchTo(defaultStyle));
  }

  rows(buffer: IBuffer, firstRow: number): void {
    let isWrapped = false;
    for (let row = firstRow; row < buffer.length; row++) {
      const line = buffer.getLine(row);
      // xterm.js returns the first row for the one after the last.
      const next = row + 1 < buffer.length ? buffer.getLine(row + 1) : undefined;
      if (line === undefined) break;
      const wraps = next?.isWrapped === true && this.#canWrap(line, next);
      this.#row(line, isWrapped, wraps);
      if (next !== undefined && !wraps) this.print(`${this.#switchTo(defaultStyle)}\r\n`);
      isWrapped = wraps;
    }
  }

  /** Prints the last character of a row again, which leaves the cursor behind the last column. */
  lastCharacter(line: IBufferLine, moveTo: (col: number) => string): void {
    const last = this.#cols - 1;
    const isPrintable = endsCharacter(line, last);
    const col = isPrintable && line.getCell(last)?.getChars() === '' ? last - 1 : last;
    const cell = line.getCell(col);
    const style = cell === undefined ? defaultStyle : styleOf(cell);
    this.print(`${moveTo(col)}${style}${isPrintable ? cell?.getChars() : ' '}`);
  }

  #row(line: IBufferLine, followsWrap: boolean, wraps: boolean): void {
    /** Cells that were not painted yet because they look like the cells of a new row. */
    let skipped = 0;
    for (let col = 0; col < this.#cols; ) {
      const cell = line.getCell(col, this.#cell);
      if (cell === undefined) break;
      const width = Math.max(1, cell.getWidth());
      const characters = width === 2 && this.#isCutInHalf(line, col) ? '' : cell.getChars();
      if (characters === '' && (cell.isAttributeDefault() || (wraps && col === this.#cols - 1))) {
        skipped++;
        col++;
        continue;
      }
      this.print(skipOver(skipped));
      skipped = 0;
      this.#paint(cell, characters);
      // A row that the terminal scrolled in for a wrapped line has the background of the character that wrapped.
      if (followsWrap && col === 0 && !cell.isBgDefault()) this.print(`${this.#switchTo(defaultStyle)}\x1b[K`);
      col += characters === '' ? 1 : width;
    }
  }

  #paint(cell: IBufferCell, characters: string): void {
    const style = styleOf(cell);
    // xterm.js gives a combining character a cell of its own if it follows an escape sequence.
    const isAloneCombining = characters !== '' && cell.getWidth() === 0;
    const switching = isAloneCombining ? style : this.#switchTo(style);
    this.#style = style;
    if (characters === '' && isOnlyBackground(cell)) this.print(`${switching}\x1b[X\x1b[C`);
    else this.print(`${switching}${characters || ' '}`);
  }

  /** A wide character may lose its second cell: to the last column after a resize, and without autowrap to the next character. */
  #isCutInHalf(line: IBufferLine, col: number): boolean {
    return col === this.#cols - 1 || line.getCell(col + 1)?.getChars() !== '';
  }

  #switchTo(style: string): string {
    if (style === this.#style) return '';
    this.#style = style;
    return style;
  }

  /** Whether printing both rows without a line break between them makes the terminal wrap where it did. */
  #canWrap(line: IBufferLine, next: IBufferLine): boolean {
    const last = line.getCell(this.#cols - 1);
    const first = next.getCell(0);
    if (last === undefined || first === undefined || first.getChars() === '' || first.getWidth() === 0) return false;
    // A wide character also wraps at the last column, which then stays empty, in its style.
    const leavesOneEmpty = first.getWidth() === 2 && last.getChars() === '' && styleOf(last) === styleOf(first);
    return endsCharacter(line, this.#cols - 1) || (leavesOneEmpty && endsCharacter(line, this.#cols - 2));
  }
}

class PaintingTooLong extends Error {
  override name = 'PaintingTooLong';
}

/** Whether a character ends in this cell. */
function endsCharacter(line: IBufferLine, col: number): boolean {
  const cell = line.getCell(col);
  return cell?.getChars() === '' ? line.getCell(col - 1)?.getWidth() === 2 : cell?.getWidth() !== 2;
}

const skipOver = (cells: number): string => (cells === 0 ? '' : `\x1b[${cells}C`);

const isOnlyBackground = (cell: IBufferCell): boolean => cell.isFgDefault() && flagsOf(cell).length === 0;

/** The attributes that a character is printed with. */
type Style = Omit<IBufferCell, 'getWidth' | 'getChars' | 'getCode'>;

/** The style of the next character. xterm.js does not expose it; its own serializer reads the same field. */
function currentStyle(terminal: Terminal): Style {
  const { _core: core } = terminal as unknown as Internals;
  return core._inputHandler._curAttrData;
}

interface Internals {
  readonly _core: { readonly _inputHandler: { readonly _curAttrData: Style } };
}

/** Returns the sequence that sets all attributes of a cell, whatever they were before. */
function styleOf(cell: Style): string {
  if (cell.isAttributeDefault()) return defaultStyle;
  const codes = [0, ...flagsOf(cell)];
  if (cell.isFgRGB()) codes.push(38, ...rgb(cell.getFgColor()));
  if (cell.isFgPalette()) codes.push(...palette(cell.getFgColor(), 30));
  if (cell.isBgRGB()) codes.push(48, ...rgb(cell.getBgColor()));
  if (cell.isBgPalette()) codes.push(...palette(cell.getBgColor(), 40));
  return `\x1b[${codes.join(';')}m`;
}

function flagsOf(cell: Style): number[] {
  const codes: number[] = [];
  if (cell.isBold()) codes.push(1);
  if (cell.isDim()) codes.push(2);
  if (cell.isItalic()) codes.push(3);
  if (cell.isUnderline()) codes.push(4);
  if (cell.isBlink()) codes.push(5);
  if (cell.isInverse()) codes.push(7);
  if (cell.isInvisible()) codes.push(8);
  if (cell.isStrikethrough()) codes.push(9);
  if (cell.isOverline()) codes.push(53);
  return codes;
}

const rgb = (color: number): number[] => [2, (color >> 16) & 0xff, (color >> 8) & 0xff, color & 0xff];

/** The codes of a color of the palette: 30 to 37 (40 to 47), 90 to 97 (100 to 107), or 38;5;n (48;5;n). */
function palette(color: number, base: 30 | 40): number[] {
  if (color < 8) return [base + color];
  return color < 16 ? [base + 60 + color - 8] : [base + 8, 5, color];
}

const mouseModes = { none: '', x10: '\x1b[?9h', vt200: '\x1b[?1000h', drag: '\x1b[?1002h', any: '\x1b[?1003h' };

/** The modes that neither move the cursor nor change what is printed. */
function inputModes(modes: IModes): string {
  return [
    modes.applicationCursorKeysMode ? '\x1b[?1h' : '',
    modes.applicationKeypadMode ? '\x1b=' : '',
    modes.bracketedPasteMode ? '\x1b[?2004h' : '',
    modes.sendFocusMode ? '\x1b[?1004h' : '',
    modes.reverseWraparoundMode ? '\x1b[?45h' : '',
    mouseModes[modes.mouseTrackingMode],
  ].join('');
}

interface PaintOptions {
  readonly scrollbackLines: number;
  readonly regions: Regions;
  /** Characters. */
  readonly maxLength: number;
}

/**
 * Returns what a terminal that was just reset has to print to show the same: rows, cursor, region and modes. Returns undefined if that is longer
 * than `maxLength`.
 */
export function paint(terminal: Terminal, options: PaintOptions): string | undefined {
  const painting = new Painting(terminal, options.maxLength);
  try {
    const { normal, active } = terminal.buffer;
    const { regions } = options;
    painting.rows(normal, Math.max(0, normal.length - terminal.rows - options.scrollbackLines));
    if (active.type === 'alternate') {
      // The cursor of the normal screen is saved by the switch, and comes back with it.
      painting.resetStyle();
      painting.print(`${setRegion(regions.normal)}${moveTo(normal.cursorY, normal.cursorX)}\x1b[?1049h\x1b[H`);
      painting.rows(active, 0);
    }
    paintCursor(painting, terminal, regions);
    const { modes } = terminal;
    painting.print(modes.insertMode ? '\x1b[4h' : '');
    painting.print(modes.wraparoundMode ? '' : '\x1b[?7l');
    painting.print(inputModes(modes));
    painting.print(styleOf(currentStyle(terminal)));
    return painting.text;
  } catch (error) {
    if (error instanceof PaintingTooLong) return undefined;
    throw error;
  }
}

/** Sets the region and the origin mode first: both move the cursor. */
function paintCursor(painting: Painting, terminal: Terminal, regions: Regions): void {
  const { active } = terminal.buffer;
  const region = regions[active.type];
  const isRelative = terminal.modes.originMode;
  const row = active.cursorY - (isRelative && region !== undefined ? region.top - 1 : 0);
  painting.print(setRegion(region) + (isRelative ? '\x1b[?6h' : ''));
  const line = active.getLine(active.baseY + active.cursorY);
  if (active.cursorX < terminal.cols || line === undefined) painting.print(moveTo(row, active.cursorX));
  else painting.lastCharacter(line, (col) => moveTo(row, col));
}

const setRegion = (region: Regions['normal']): string =>
  region === undefined ? '' : `\x1b[${region.top};${region.bottom}r`;

/** Rows and columns are counted from 0. */
const moveTo = (row: number, col: number): string => `\x1b[${row + 1};${col + 1}H`;
