import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { announce } from '../parts/announcements.tsx';
import { copyText } from '../parts/copy-button.tsx';
import { onThemeChange } from '../theme/theme.ts';
import { type ConnectionState, type Size, TerminalConnection } from './connection.ts';
import type { Preferences } from './preferences.ts';
import type { Told } from './reconnect.ts';
import { readScreenTheme } from './screen-theme.ts';
import { readableTitle } from './title.ts';

export interface ViewOptions {
  readonly path: string;
  readonly session: string | undefined;
  readonly preferences: Preferences;
  readonly ask: () => Promise<Told>;
  readonly onSession: (session: string) => void;
  readonly onState: (state: ConnectionState) => void;
  readonly onTitle: (title: string | undefined) => void;
  /** The person wants to leave the terminal with the keyboard. */
  readonly onLeave: () => void;
}

/** The bounds of the service. */
const maxCols = 500;
const maxRows = 200;
/** The least contrast of text against what is behind it, whatever colours a program chooses. */
const minimumContrast = 4.5;

/** A terminal on the page: the screen, the keyboard, and the connection to the service. */
export class TerminalView {
  readonly #element: HTMLElement;
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #connection: TerminalConnection;
  readonly #cleanups: (() => void)[] = [];
  /** As it fits into the page. Another client may have given the terminal another size since. */
  #fitted: Size;

  constructor(element: HTMLElement, options: ViewOptions) {
    this.#element = element;
    this.#terminal = new Terminal({
      theme: readScreenTheme(element),
      fontFamily: getComputedStyle(element).fontFamily,
      fontSize: options.preferences.fontSizePx,
      screenReaderMode: options.preferences.isForScreenReaders,
      lineHeight: 1.2,
      cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
      scrollback: 5_000,
      minimumContrastRatio: minimumContrast,
      macOptionIsMeta: true,
      // A program chooses what a link says and where it leads to: none is opened.
      linkHandler: { activate: (_event, target) => void copyLink(target) },
    });
    const terminal = this.#terminal;
    terminal.loadAddon(this.#fit);
    terminal.open(element);
    this.#fitted = this.#measure();
    terminal.resize(this.#fitted.cols, this.#fitted.rows);
    terminal.attachCustomKeyEventHandler((event) => this.#handleKey(event, options));
    terminal.onTitleChange((title) => options.onTitle(readableTitle(title)));
    this.#connection = new TerminalConnection({
      path: options.path,
      session: options.session,
      size: () => this.#fitted,
      ask: options.ask,
      onSession: options.onSession,
      onState: (state) => {
        terminal.options.disableStdin = state.kind !== 'open';
        options.onState(state);
      },
      onSize: ({ cols, rows }) => terminal.resize(cols, rows),
      onOutput: (bytes, done) => terminal.write(bytes, done),
    });
    const connection = this.#connection;
    terminal.onData((text) => connection.type(text));
    terminal.onBinary((text) => connection.typeBytes(Uint8Array.from(text, (one) => one.charCodeAt(0))));
    this.#followSize();
    this.#followTheme();
  }

  focus(): void {
    this.#terminal.focus();
  }

  prefer({ fontSizePx, isForScreenReaders }: Preferences): void {
    this.#terminal.options.fontSize = fontSizePx;
    this.#terminal.options.screenReaderMode = isForScreenReaders;
    this.#resize();
  }

  tryNow(): void {
    this.#connection.tryNow();
  }

  /** Ends the shell. Returns whether it could be said. */
  hangUp(): boolean {
    return this.#connection.hangUp();
  }

  dispose(): void {
    for (const clean of this.#cleanups) clean();
    this.#connection.detach();
    this.#terminal.dispose();
  }

  #handleKey(event: KeyboardEvent, { onLeave }: ViewOptions): boolean {
    if (event.type !== 'keydown') return true;
    const isCtrlShift = event.ctrlKey && event.shiftKey && !event.altKey && !event.metaKey;
    if (isCtrlShift && event.code === 'KeyC') {
      event.preventDefault();
      const selected = this.#terminal.getSelection();
      if (selected !== '') void copyText(selected).then((isCopied) => announceCopy(isCopied));
      return false;
    }
    if (isCtrlShift && event.code === 'KeyL') {
      event.preventDefault();
      onLeave();
      return false;
    }
    // The browser pastes by itself.
    const isPaste = (isCtrlShift && event.code === 'KeyV') || (event.shiftKey && event.code === 'Insert');
    return !isPaste;
  }

  #measure(): Size {
    const { cols, rows } = this.#fit.proposeDimensions() ?? this.#terminal;
    return {
      cols: Math.max(2, Math.min(maxCols, Number.isFinite(cols) ? cols : 80)),
      rows: Math.max(1, Math.min(maxRows, Number.isFinite(rows) ? rows : 24)),
    };
  }

  /** Fits the terminal into its place, unless it is not shown. */
  #resize(): void {
    if (this.#element.clientWidth === 0) return;
    const size = this.#measure();
    if (size.cols === this.#fitted.cols && size.rows === this.#fitted.rows) return;
    this.#fitted = size;
    this.#terminal.resize(size.cols, size.rows);
    this.#connection.resize(size);
  }

  #followSize(): void {
    let frame = 0;
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => this.#resize());
    });
    observer.observe(this.#element);
    this.#cleanups.push(() => {
      cancelAnimationFrame(frame);
      observer.disconnect();
    });
  }

  #followTheme(): void {
    const show = () => {
      this.#terminal.options.theme = readScreenTheme(this.#element);
    };
    const isDark = matchMedia('(prefers-color-scheme: dark)');
    isDark.addEventListener('change', show);
    this.#cleanups.push(onThemeChange(show), () => isDark.removeEventListener('change', show));
  }
}

async function copyLink(target: string): Promise<void> {
  announce(
    (await copyText(target)) ? 'Link copied. It was not opened.' : 'The browser did not allow copying the link.',
  );
}

function announceCopy(isCopied: boolean): void {
  announce(isCopied ? 'Copied.' : 'The browser did not allow copying.');
}
