import type { OpenApiDocument } from '@mayfly/contract';
import { answerChecker } from '@mayfly/contract/testing';
import fc from 'fast-check';
import { sendRaw } from '../support/conformance/raw.ts';
import { problemsOf, replayable } from './check.ts';
import { type FuzzRequest, isMisframed, render } from './fuzz-request.ts';
import { anyRequest } from './generate/requests.ts';
import { Statistics } from './statistics.ts';
import { World } from './world.ts';

export interface FuzzOptions {
  readonly baseUrl: string;
  readonly key: string;
  /** What the service publishes of itself. */
  readonly document: OpenApiDocument;
  /** Sandboxes that stay for as long as it takes. */
  readonly live: readonly string[];
  readonly seed: number;
  readonly count: number;
  /** False ends it: the service is gone. */
  readonly alive: () => boolean;
}

export interface FuzzResult {
  readonly statistics: Statistics;
  /** Each with what it takes to send it again. */
  readonly failures: readonly string[];
}

const inFlight = 16;
const batch = 250;
const enoughFailures = 10;
/** A create waits for its turn on a busy host; the specification tells clients to wait several minutes for one. */
const deadlineMs: Readonly<Record<string, number>> = { createSandbox: 180_000, runCommand: 80_000 };
const otherDeadlineMs = 30_000;

/** Requests by the seed, made in batches as they are needed. */
function* requests({ document, seed, count }: FuzzOptions): Generator<FuzzRequest> {
  const arbitrary = anyRequest(document);
  for (let at = 0; at < count; at += batch) {
    yield* fc.sample(arbitrary, { seed: seed + at, numRuns: Math.min(batch, count - at) });
  }
}

/** Sends generated requests, several at once, and checks every answer. */
export const fuzz = async (options: FuzzOptions): Promise<FuzzResult> => {
  const { baseUrl, key, document, live, alive } = options;
  const checkPublished = answerChecker(document);
  const world = new World(live);
  const statistics = new Statistics();
  const failures: string[] = [];
  const source = requests(options);

  const send = async (request: FuzzRequest): Promise<void> => {
    const bytes = render(request, key);
    const startedMs = performance.now();
    const limitMs = deadlineMs[request.operation] ?? otherDeadlineMs;
    const halfClose = isMisframed(request);
    const answer = await sendRaw(baseUrl, bytes, limitMs, { headOnly: request.method === 'HEAD', halfClose }).catch(
      (error: Error) => error,
    );
    const got = answer instanceof Error ? undefined : answer;
    const problems = answer instanceof Error ? [answer.message] : problemsOf(request, got, checkPublished);
    statistics.count(request.operation, String(got?.status ?? 'closed'), performance.now() - startedMs);
    if (got) world.learn(request, got);
    if (problems.length > 0) failures.push(replayable(request, bytes, got, problems));
  };
  const work = async (): Promise<void> => {
    for (;;) {
      const next = source.next();
      if (next.done || failures.length >= enoughFailures || !alive()) return;
      await send(world.resolve(next.value));
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return { statistics, failures };
};
