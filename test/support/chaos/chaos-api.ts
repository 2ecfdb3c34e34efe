import { checkResponse } from '@mayfly/contract/testing';
import type { Target } from '../api-requests.ts';
import type { Trace } from './history.ts';

/** A response, or the fact that the connection was lost. */
export interface ChaosResponse {
  /** 0 if the connection was lost: the request may or may not have taken effect. */
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ChaosRequest {
  readonly body?: object;
  readonly idempotencyKey?: string;
}

/** Longer than any request of the chaos clients takes. A request that exceeds it is reported as hung. */
const hangMs = 90_000;

/** Whether the connection was refused, as opposed to lost after it was established. */
function isRefused(error: unknown): boolean {
  return error instanceof TypeError && (error.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';
}

/** An API client for a service that is killed and restarted. Reports every response that does not match the published API. */
export class ChaosApi {
  readonly #target: Target;
  readonly #trace: Trace;
  readonly #problems: string[];

  constructor(target: Target, trace: Trace, problems: string[]) {
    this.#target = target;
    this.#trace = trace;
    this.#problems = problems;
  }

  async request(method: string, path: string, { body, idempotencyKey }: ChaosRequest = {}): Promise<ChaosResponse> {
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
      const mismatches = checkResponse({ method, path: `/v1${path}`, status, headers, body: text });
      this.#problems.push(...mismatches.map((problem) => `${method} ${path} returned ${status}: ${problem}`));
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
