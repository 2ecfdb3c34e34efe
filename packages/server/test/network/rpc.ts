import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

interface Response {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** A test's child process that answers requests: one JSON line per request and response. */
export class RpcChild {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, (response: Response) => void>();
  readonly #exited: Promise<number | null>;
  #lastId = 0;

  constructor(argv: readonly [string, ...string[]]) {
    const [program, ...rest] = argv;
    this.#child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.pid = this.#child.pid ?? 0;
    if (this.#child.stdout) {
      createInterface(this.#child.stdout).on('line', (line) => {
        const response: Response = JSON.parse(line);
        this.#pending.get(response.id)?.(response);
        this.#pending.delete(response.id);
      });
    }
    this.#child.stdin?.on('error', () => {});
    this.#exited = new Promise((resolve) => this.#child.once('exit', (code) => resolve(code)));
    void this.#exited.then(() => {
      for (const [id, resolve] of this.#pending) resolve({ id, error: 'the process exited' });
    });
  }

  /** Sends a request and waits for its result, whose type the caller knows. */
  async ask<T = unknown>(op: string, params: object = {}): Promise<T> {
    const id = ++this.#lastId;
    const response = await new Promise<Response>((resolve) => {
      this.#pending.set(id, resolve);
      this.#child.stdin?.write(`${JSON.stringify({ id, op, ...params })}\n`);
    });
    if (response.error !== undefined) throw new Error(response.error);
    return response.value as T;
  }

  /** Closes its input, so that it exits. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    await this.#exited;
  }

  /** Resolves with the exit code when the process has ended; null if a signal ended it. */
  exited(): Promise<number | null> {
    return this.#exited;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}

/** Answers requests on standard input with the handlers' results. Exits when the input ends. */
export function serveRpc(handlers: Readonly<Record<string, (params: never) => unknown>>): void {
  createInterface(process.stdin)
    .on('line', (line) => {
      const { id, op, ...params }: { id: number; op: string } = JSON.parse(line);
      const handler = handlers[op] as ((params: object) => unknown) | undefined;
      Promise.resolve()
        .then(() => {
          if (!handler) throw new Error(`Unknown request: ${op}`);
          return handler(params);
        })
        .then(
          (value) => ({ id, value }),
          (error: unknown) => ({ id, error: error instanceof Error ? error.message : String(error) }),
        )
        .then((response) => process.stdout.write(`${JSON.stringify(response)}\n`))
        .catch(() => {});
    })
    .on('close', () => process.exit(0));
}
