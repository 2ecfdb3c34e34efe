import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A process of a test that does what it is asked, one JSON line per order and answer. */
export class RpcChild {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #ended: Promise<void>;
  #lastId = 0;

  constructor(argv: readonly [string, ...string[]]) {
    const [program, ...rest] = argv;
    this.#child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.pid = this.#child.pid ?? 0;
    if (this.#child.stdout) {
      createInterface(this.#child.stdout).on('line', (line) => {
        const answer: Answer = JSON.parse(line);
        this.#waiting.get(answer.id)?.(answer);
        this.#waiting.delete(answer.id);
      });
    }
    this.#child.stdin?.on('error', () => {});
    this.#ended = new Promise((resolve) => this.#child.once('exit', () => resolve()));
    void this.#ended.then(() => {
      for (const [id, settle] of this.#waiting) settle({ id, error: 'the process ended' });
    });
  }

  /** Asks for something and waits for it. The caller knows what comes back. */
  async ask<T = unknown>(op: string, order: object = {}): Promise<T> {
    const id = ++this.#lastId;
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.stdin?.write(`${JSON.stringify({ id, op, ...order })}\n`);
    });
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.value as T;
  }

  /** Lets it end by itself. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }

  /** Ends it without warning. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
