import type { Connection } from './connection.ts';

/** Pings the agent while somebody waits for a command, and ends the connection when an answer stays away too long. */
export class Liveness {
  readonly #connection: Connection;
  readonly #intervalMs: number;
  readonly #answerMs: number;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Connection, intervalMs: number, answerMs: number) {
    this.#connection = connection;
    this.#intervalMs = intervalMs;
    this.#answerMs = answerMs;
  }

  /** Watches until the work has settled, and answers with its outcome. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#waiting += 1;
    if (this.#waiting === 1) this.#schedule();
    try {
      return await work;
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) clearTimeout(this.#timer);
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#waiting === 0 || this.#connection.session.destroyed) return;
    this.#timer = setTimeout(() => this.#ping(), this.#intervalMs);
  }

  #ping(): void {
    const { session } = this.#connection;
    if (session.destroyed) return;
    this.#timer = setTimeout(
      () => this.#connection.end(`the agent did not answer a ping within ${this.#answerMs} ms`),
      this.#answerMs,
    );
    session.ping(() => this.#schedule());
  }
}
