import { checkAnswer } from '@mayfly/contract/testing';
import type { Target } from '../http.ts';
import type { Trace } from './trace.ts';

/** What came back: an answer, or nothing because the service went away meanwhile. */
export interface Answer {
  /** 0 when the connection was lost: what was asked may or may not have happened. */
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Ask {
  readonly body?: object;
  readonly idempotencyKey?: string;
}

/** Nothing that a client asks here takes longer; what does, hangs. */
const hangMs = 90_000;

/** Whether nobody was there at all, rather than gone in the middle of it. */
const isRefused = (error: unknown): boolean =>
  error instanceof TypeError && (error.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';

/** A client's view of a service that comes and goes. Notes every answer that is not as published. */
export class Api {
  readonly #target: Target;
  readonly #trace: Trace;
  readonly #problems: string[];

  constructor(target: Target, trace: Trace, problems: string[]) {
    this.#target = target;
    this.#trace = trace;
    this.#problems = problems;
  }

  async ask(method: string, path: string, { body, idempotencyKey }: Ask = {}): Promise<Answer> {
    const signal = AbortSignal.timeout(hangMs);
    try {
      const response = await fetch(`${this.#target.url}/v1${path}`, {
        method,
        signal,
        headers: {
          authorization: `Bearer ${this.#target.key}`,
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const { status, headers } = response;
      const wrong = checkAnswer({ method, path: `/v1${path}`, status, headers, body: text });
      this.#problems.push(...wrong.map((problem) => `${method} ${path} answered ${status}: ${problem}`));
      if (status >= 500) this.#trace.note(`${method} ${path} ${status} ${text}`);
      this.#count(method, path, `${status}`);
      return { status, body: JSON.parse(text) as Record<string, unknown> };
    } catch (error) {
      if (signal.aborted) this.#problems.push(`${method} ${path} hung for ${hangMs} ms`);
      else if (!(error instanceof TypeError)) throw error;
      this.#count(method, path, isRefused(error) ? 'refused' : 'lost');
      return { status: 0, body: {} };
    }
  }

  #count(method: string, path: string, outcome: string): void {
    const [, noun = '', , verb] = path.split(/[/?]/);
    this.#trace.count(`${method} ${verb ?? noun} ${outcome}`);
  }
}
