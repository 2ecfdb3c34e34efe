import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';

/** An order to mayfly-net; see host/net/internal/control. */
export interface ResolverOrder {
  readonly op: 'add' | 'policy' | 'remove';
  readonly slot: number;
  readonly netns?: string;
  readonly listen?: string;
  readonly mode?: 'all' | 'none' | 'list';
  readonly names?: readonly string[];
  readonly transaction?: string;
}

const answerSchema = z.object({ id: z.number(), error: z.string().optional() });

/** The helper ended before it answered. */
export class ResolverGone extends Error {
  override readonly name = 'ResolverGone';
}

/** How long the helper may take for an order, in milliseconds. */
const orderDeadlineMs = 15_000;

/** How long the helper may take to end by itself, in milliseconds. */
const endDeadlineMs = 2_000;

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** One running mayfly-net. */
export class ResolverProcess {
  /** Settles when it is gone, with what it said last; never rejects. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(helperPath: string, resolvConfPath: string) {
    this.#child = spawn(helperPath, ['-resolv-conf', resolvConfPath], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    let lastWords = '';
    this.#child.stderr.on('data', (chunk: Buffer) => {
      lastWords = (lastWords + chunk.toString()).slice(-2000);
    });
    this.#child.stdin.on('error', () => {});
    createInterface(this.#child.stdout).on('line', (line) => this.#take(line));
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', () => resolve(lastWords.trim()));
    });
    void this.ended.then((words) => {
      for (const id of this.#waiting.keys()) this.#settle(id, new ResolverGone(`mayfly-net ended: ${words}`));
    });
  }

  /** The process id; undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Gives an order and waits until it is carried out. */
  ask(order: ResolverOrder): Promise<void> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#settle(id, new Error('mayfly-net did not answer in time')), orderDeadlineMs);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#child.stdin.write(`${JSON.stringify({ id, ...order })}\n`, (error) => {
        if (error) void this.ended.then((words) => this.#settle(id, new ResolverGone(`mayfly-net ended: ${words}`)));
      });
    });
  }

  /** A helper whose answers cannot be read is of no use: it is ended, and its keeper starts another. */
  #take(line: string): void {
    const answer = answerOf(line);
    if (answer === undefined) {
      this.#child.kill('SIGKILL');
      return;
    }
    const { id, error } = answer;
    this.#settle(id, error === undefined ? undefined : new Error(`mayfly-net: ${error}`));
  }

  #settle(id: number, error: Error | undefined): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    if (error) waiting.reject(error);
    else waiting.resolve();
  }

  /** Ends it: its sockets in the machines' namespaces close with it. */
  async end(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), endDeadlineMs);
    this.#child.stdin.end();
    await this.ended;
    clearTimeout(timer);
  }
}

function answerOf(line: string): z.infer<typeof answerSchema> | undefined {
  try {
    return answerSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
