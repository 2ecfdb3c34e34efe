import type { IBufferNamespace, Terminal } from '@xterm/headless';

/** The scroll region, in rows counted from 1, both included. */
interface ScrollRegion {
  readonly top: number;
  readonly bottom: number;
}

/** The scroll region of each of the two screens, undefined for all rows. */
export interface Regions {
  readonly normal: ScrollRegion | undefined;
  readonly alternate: ScrollRegion | undefined;
}

const noRegions: Regions = { normal: undefined, alternate: undefined };

const mouseEncodings = [1006, 1016];
const cursorMode = 25;

/** The character sets that programs switch to: line drawing, the UK set, and back to ascii. */
const characterSets = ['0', 'A', 'B'];
const ascii = 'B';

/** What xterm.js keeps but does not expose. It is read off the sequences that set it. */
export class TrackedModes {
  #isCursorHidden = false;
  /** The private mode that sets the encoding of mouse reports, 0 for the default. */
  #mouseEncoding = 0;
  /** The parameter of DECSCUSR, 0 for the default. */
  #cursorStyle = 0;
  #characterSet = ascii;
  /** Each of the two screens has its own. */
  #regions: Regions = noRegions;
  readonly #buffer: IBufferNamespace;

  constructor(terminal: Terminal) {
    const { parser, buffer } = terminal;
    this.#buffer = buffer;
    /** Lets xterm.js handle the sequence as well. */
    const passOn = (track: (params: number[]) => void) => (params: (number | number[])[]) => {
      track(params.map((param) => (typeof param === 'number' ? param : 0)));
      return false;
    };
    parser.registerCsiHandler(
      { prefix: '?', final: 'h' },
      passOn((modes) => this.#setModes(modes, true)),
    );
    parser.registerCsiHandler(
      { prefix: '?', final: 'l' },
      passOn((modes) => this.#setModes(modes, false)),
    );
    parser.registerCsiHandler(
      { intermediates: ' ', final: 'q' },
      passOn(([style = 1]) => {
        this.#cursorStyle = style <= 6 ? style : this.#cursorStyle;
      }),
    );
    parser.registerCsiHandler(
      { final: 'r' },
      passOn((params) => this.#setRegion(params, terminal)),
    );
    parser.registerCsiHandler(
      { intermediates: '!', final: 'p' },
      passOn(() => this.#softReset()),
    );
    parser.registerEscHandler({ final: 'c' }, () => {
      this.#softReset();
      this.#mouseEncoding = 0;
      this.forgetRegions();
      return false;
    });
    for (const characterSet of characterSets) {
      parser.registerEscHandler({ intermediates: '(', final: characterSet }, () => {
        this.#characterSet = characterSet;
        return false;
      });
    }
    buffer.onBufferChange(({ type }) => {
      if (type === 'normal') this.#regions = { ...this.#regions, alternate: undefined };
    });
  }

  get regions(): Regions {
    return this.#regions;
  }

  /** The scroll regions of xterm.js end with a change of the size. */
  forgetRegions(): void {
    this.#regions = noRegions;
  }

  /** Returns the sequences that set these modes, except for the regions: setting one moves the cursor. */
  sequences(): string {
    const mouse = this.#mouseEncoding > 0 ? `\x1b[?${this.#mouseEncoding}h` : '';
    const style = this.#cursorStyle > 0 ? `\x1b[${this.#cursorStyle} q` : '';
    const characterSet = this.#characterSet === ascii ? '' : `\x1b(${this.#characterSet}`;
    // A reset does not show the cursor of xterm.js again.
    const cursor = `\x1b[?${cursorMode}${this.#isCursorHidden ? 'l' : 'h'}`;
    return mouse + style + characterSet + cursor;
  }

  #softReset(): void {
    this.#isCursorHidden = false;
    this.#cursorStyle = 0;
    this.#characterSet = ascii;
    this.#regions = { ...this.#regions, [this.#buffer.active.type]: undefined };
  }

  #setModes(modes: number[], isSet: boolean): void {
    for (const mode of modes) {
      if (mode === cursorMode) this.#isCursorHidden = !isSet;
      if (mouseEncodings.includes(mode)) this.#mouseEncoding = isSet ? mode : 0;
    }
  }

  #setRegion([first = 0, last = 0]: number[], { rows }: { readonly rows: number }): void {
    const top = first || 1;
    const bottom = last === 0 || last > rows ? rows : last;
    if (bottom <= top) return;
    const region = top === 1 && bottom === rows ? undefined : { top, bottom };
    this.#regions = { ...this.#regions, [this.#buffer.active.type]: region };
  }
}
