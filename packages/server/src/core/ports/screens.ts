/** The size of a terminal in characters. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** What a terminal shows, kept up to date from its output. The output is untrusted. */
export interface Screen extends Disposable {
  /** Never blocks and never throws. */
  write(bytes: Uint8Array): void;
  resize(size: TerminalSize): void;
  /** Forgets everything: what follows does not continue what was written before. */
  reset(size: TerminalSize): void;
  /**
   * Returns what a terminal that was just reset (RIS) has to print to look like this one, after everything written before the call.
   * Never rejects.
   */
  show(): Promise<Uint8Array>;
}

export interface Screens extends AsyncDisposable {
  open(size: TerminalSize): Screen;
}
