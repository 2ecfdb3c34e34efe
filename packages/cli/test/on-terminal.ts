import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { mayflyPath } from './mayfly.ts';

const runOnTerminal = fileURLToPath(new URL('./run-on-terminal.py', import.meta.url));

/** A `mayfly` command on a terminal of its own, 100 columns by 30 lines. */
export class OnTerminal {
  /** Everything that was printed. */
  printed = '';
  readonly ended: Promise<{ readonly code: number | null; readonly isRestored: boolean }>;
  readonly #child;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv, node: string = process.execPath) {
    const command = [node, mayflyPath, ...args];
    this.#child = spawn('python3', ['-S', '-E', runOnTerminal, ...command], { env: { ...process.env, ...env } });
    this.#child.stdout.setEncoding('utf8').on('data', (printed: string) => (this.printed += printed));
    this.#child.stdin.on('error', () => {});
    const said = text(this.#child.stderr);
    this.ended = once(this.#child, 'close').then(async ([code]) => ({
      code: code as number | null,
      isRestored: (await said).trimEnd().endsWith('restored'),
    }));
  }

  type(keys: string): void {
    this.#child.stdin.write(`${JSON.stringify({ type: keys })}\n`);
  }

  /** Sends a signal to the command alone. */
  kill(name: NodeJS.Signals): void {
    this.#child.stdin.write(`${JSON.stringify({ signal: constants.signals[name] })}\n`);
  }

  /** Closes the terminal, as the window of a terminal program does. */
  hangUp(): void {
    this.#child.stdin.write(`${JSON.stringify({ hang_up: true })}\n`);
  }

  resize(cols: number, rows: number): void {
    this.#child.stdin.write(`${JSON.stringify({ resize: [rows, cols] })}\n`);
  }
}
