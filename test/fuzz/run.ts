import type { OpenApiDocument } from '@mayfly/contract';
import { responseChecker } from '@mayfly/contract/testing';
import fc from 'fast-check';
import type { HttpResponse } from '../support/conformance/http-client.ts';
import { sendRawBytes } from '../support/conformance/raw-http.ts';
import { describeFailure, findFuzzProblems } from './check.ts';
import { type FuzzRequest, isMisframed, render } from './fuzz-request.ts';
import { anyRequest } from './generate/requests.ts';

export interface FuzzOptions {
  readonly baseUrl: string;
  readonly key: string;
  /** The OpenAPI document that the service publishes. */
  readonly document: OpenApiDocument;
  /** Sandboxes that exist during the whole run. */
  readonly permanent: readonly string[];
  readonly seed: number;
  readonly count: number;
  /** Whether the service is still running. The run ends when it is not. */
  readonly isAlive: () => boolean;
}

export interface FuzzResult {
  readonly statistics: Statistics;
  /** Descriptions with the bytes to repeat each request. */
  readonly failures: readonly string[];
}

const concurrency = 16;
/** The service limits how fast one address may open connections, and a fast host would reach that. */
const sourceAddresses = Array.from({ length: 16 }, (_, index) => `127.0.0.${index + 1}`);
const batchSize = 250;
const maxFailures = 10;
/** Creates and saves may queue on a busy host; the specification tells clients to wait several minutes. */
const deadlineMs: Readonly<Record<string, number>> = {
  createSandbox: 180_000,
  runCommand: 80_000,
  createSnapshot: 300_000,
  forkSandbox: 300_000,
  rollbackSandbox: 300_000,
};
const otherDeadlineMs = 30_000;

/** Generates the requests of a seed, in batches. */
function* generateRequests({ document, seed, count }: FuzzOptions): Generator<FuzzRequest> {
  const arbitrary = anyRequest(document);
  for (let at = 0; at < count; at += batchSize) {
    yield* fc.sample(arbitrary, { seed: seed + at, numRuns: Math.min(batchSize, count - at) });
  }
}

/** Sends generated requests concurrently and checks every response. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { baseUrl, key, document, permanent, isAlive } = options;
  const checkPublished = responseChecker(document);
  const ids = new KnownIds(permanent);
  const statistics = new Statistics();
  const failures: string[] = [];
  const requests = generateRequests(options);
  let sent = 0;

  const send = async (request: FuzzRequest): Promise<void> => {
    const bytes = render(request, key);
    const startedMs = performance.now();
    const limitMs = deadlineMs[request.operation] ?? otherDeadlineMs;
    const halfClose = isMisframed(request);
    const localAddress = sourceAddresses[sent % sourceAddresses.length] ?? '';
    sent += 1;
    const result = await sendRawBytes(baseUrl, bytes, limitMs, {
      headOnly: request.method === 'HEAD',
      halfClose,
      localAddress,
    }).catch((error: Error) => error);
    const response = result instanceof Error ? undefined : result;
    const problems = result instanceof Error ? [result.message] : findFuzzProblems(request, response, checkPublished);
    statistics.count(request.operation, String(response?.status ?? 'closed'), performance.now() - startedMs);
    if (response) ids.record(request, response);
    if (problems.length > 0) failures.push(describeFailure(request, bytes, response, problems));
  };
  const work = async (): Promise<void> => {
    for (;;) {
      const next = requests.next();
      if (next.done || failures.length >= maxFailures || !isAlive()) return;
      await send(ids.resolve(next.value));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return { statistics, failures };
}

/** The ids of sandboxes, executions and snapshots that existed during the run. */
class KnownIds {
  /** Sandboxes that are never deleted. */
  readonly #permanent: readonly string[];
  /** Sandboxes that were created by generated requests and may be deleted. */
  readonly #temporary: string[] = [];
  readonly #deleted: string[] = ['sbx_unknown'];
  readonly #executions: string[] = ['exec_unknown'];
  readonly #snapshots: string[] = ['snap_unknown'];

  constructor(permanent: readonly string[]) {
    this.#permanent = permanent;
  }

  /** Replaces placeholders such as `@permanent3@`, `@temporary3@`, `@deleted3@`, `@execution3@` and `@snapshot3@` with ids. */
  resolve(request: FuzzRequest): FuzzRequest {
    const { target, body } = request;
    // Latin-1 keeps every byte of a body that is not text.
    const resolved = body && Buffer.from(this.#fill(Buffer.from(body).toString('latin1')), 'latin1');
    return { ...request, target: this.#fill(target), ...(resolved && { body: resolved }) };
  }

  #fill(text: string): string {
    return text.replaceAll(
      /@(permanent|temporary|deleted|execution|snapshot)(\d+)@/g,
      (_, kind: string, at: string) => {
        const ids = {
          permanent: this.#permanent,
          temporary: this.#temporary,
          deleted: this.#deleted,
          execution: this.#executions,
          snapshot: this.#snapshots,
        }[kind];
        return ids?.[Number(at) % ids.length] ?? 'sbx_none';
      },
    );
  }

  /** Records the ids in the response to a request. */
  record({ method, target }: FuzzRequest, { status, text }: HttpResponse): void {
    if (status >= 300) return;
    const ids = [...text.matchAll(/"id":"([^"]+)"/g)].flatMap(([, id]) => id ?? []);
    const [path = ''] = target.split('?');
    if (method === 'POST') this.#listCreatedBy(path)?.push(...ids);
    const [, kind, deleted] = /^\/(sandboxes|snapshots)\/([^/]+)$/.exec(path) ?? [];
    if (method !== 'DELETE' || deleted === undefined) return;
    const existing = kind === 'snapshots' ? this.#snapshots : this.#temporary;
    const at = existing.indexOf(deleted);
    if (at >= 0) existing.splice(at, 1);
    if (kind === 'sandboxes') this.#deleted.push(deleted);
  }

  #listCreatedBy(path: string): string[] | undefined {
    if (path === '/sandboxes' || path.endsWith('/fork')) return this.#temporary;
    if (path.endsWith('/exec')) return this.#executions;
    return path.endsWith('/snapshots') ? this.#snapshots : undefined;
  }
}

/** Counts of responses by operation and status. */
class Statistics {
  readonly #counts = new Map<string, Map<string, number>>();
  #slowestMs = 0;
  #slowest = '';

  count(operation: string, outcome: string, durationMs: number): void {
    const outcomes = this.#counts.get(operation) ?? new Map<string, number>();
    this.#counts.set(operation, outcomes);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    if (durationMs <= this.#slowestMs) return;
    this.#slowestMs = durationMs;
    this.#slowest = operation;
  }

  /** One line per operation. */
  toString(): string {
    const rows = [...this.#counts].sort(([a], [b]) => a.localeCompare(b));
    const lines = rows.map(([operation, outcomes]) => {
      const total = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
      const parts = [...outcomes]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([outcome, count]) => `${outcome} ${count}`);
      return `  ${operation.padEnd(16)} ${String(total).padStart(5)}: ${parts.join(', ')}`;
    });
    return [...lines, `  slowest: ${this.#slowest}, ${Math.round(this.#slowestMs)} ms`].join('\n');
  }
}
