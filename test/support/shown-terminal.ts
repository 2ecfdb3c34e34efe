import headless, { type Terminal } from '@xterm/headless';
import { openTerminal, type TestTerminal } from '#server-test/http/terminal-client.ts';
import type { Target } from './api-requests.ts';

/** A terminal as a person sees it: a client with a screen. */
export class ShownTerminal {
  readonly client: TestTerminal;
  readonly #screen: Terminal;
  #written: Promise<void> = Promise.resolve();

  private constructor(client: TestTerminal, screen: Terminal) {
    this.client = client;
    this.#screen = screen;
  }

  /** Opens a terminal of a sandbox. `query` has its size, or the session to join. */
  static async open(target: Target, sandboxId: string, query: string): Promise<ShownTerminal> {
    const screen = new headless.Terminal({ allowProposedApi: true });
    const url = `${target.url}/v1/sandboxes/${sandboxId}/pty?${query}`;
    const shown: { terminal?: ShownTerminal } = {};
    const client = await openTerminal(url, { authorization: `Bearer ${target.key}` }, (opened) => {
      const terminal = new ShownTerminal(opened, screen);
      shown.terminal = terminal;
      opened.webSocket.on('message', (data: Buffer, isBinary) => terminal.#receive(data, isBinary));
    });
    await client.until(({ told }) => told.length > 0);
    if (shown.terminal === undefined) throw new Error('the terminal was not opened');
    return shown.terminal;
  }

  /** The lines of the screen, without empty ones at the end. */
  async lines(): Promise<string[]> {
    await this.#written;
    const { active } = this.#screen.buffer;
    const lines = Array.from({ length: this.#screen.rows }, (_, row) =>
      (active.getLine(active.baseY + row)?.translateToString(true) ?? '').trimEnd(),
    );
    while (lines.at(-1) === '') lines.pop();
    return lines;
  }

  /** Everything that two screens which look the same have in common. */
  async picture(): Promise<object> {
    const lines = await this.lines();
    const { cols, rows, buffer, modes } = this.#screen;
    const { cursorX, cursorY, type } = buffer.active;
    return { cols, rows, lines, cursor: [cursorX, cursorY], type, modes: { ...modes } };
  }

  /** Waits until the screen shows something. The deadline is for what is printed next. */
  async until(shows: (lines: readonly string[]) => boolean, deadlineMs?: number): Promise<void> {
    let lines: readonly string[] = [];
    for (;;) {
      const seen = this.client.printedBytes;
      lines = await this.lines();
      if (shows(lines)) return;
      await this.client
        .until(({ printedBytes }) => printedBytes > seen, deadlineMs)
        .catch((cause: unknown) => {
          throw new Error(`the screen does not show it:\n${lines.join('\n')}`, { cause });
        });
    }
  }

  async untilLine(pattern: RegExp, deadlineMs?: number): Promise<void> {
    await this.until((lines) => lines.some((line) => pattern.test(line)), deadlineMs);
  }

  type(keys: string): void {
    this.client.type(keys);
  }

  #receive(data: Buffer, isBinary: boolean): void {
    const act = isBinary ? () => this.#write(data) : async () => this.#resize(data);
    this.#written = this.#written.then(act);
  }

  #write(data: Buffer): Promise<void> {
    return new Promise((resolve) => this.#screen.write(data, resolve));
  }

  #resize(data: Buffer): void {
    const message = JSON.parse(data.toString()) as { type: string; cols: number; rows: number };
    if (message.type === 'ready' || message.type === 'resize') this.#screen.resize(message.cols, message.rows);
  }
}
