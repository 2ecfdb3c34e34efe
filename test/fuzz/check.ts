import type { answerChecker } from '@mayfly/contract/testing';
import { findProblems } from '../support/conformance/check-answer.ts';
import type { Incoming } from '../support/conformance/exchange.ts';
import { type FuzzRequest, mayStayUnanswered } from './fuzz-request.ts';

/** Everything that is wrong with the answer to a fuzzed request. */
export const problemsOf = (
  request: FuzzRequest,
  answer: Incoming | undefined,
  checkPublished: ReturnType<typeof answerChecker>,
): string[] => {
  if (answer === undefined) return mayStayUnanswered(request) ? [] : ['closed without an answer'];
  const { status, headers, text } = answer;
  // Garbage is answered as an unknown path would be: with an error, whatever was understood of it.
  const [method, path] = request.kind === 'garbage' ? ['GET', '/unknown'] : [request.method, request.target];
  const isOutside = request.bytes !== undefined && !Buffer.from(request.bytes).includes('/v1/');
  const problems = findProblems({ method, path, status, headers, text }).filter(
    (problem) => !(isOutside && problem.startsWith('ratelimit-')),
  );
  if (request.kind === 'valid') {
    problems.push(...checkPublished({ method, path: `/v1${path}`, status, headers, body: text }));
    // A directory without `recursive` is told from a file only by looking.
    const refused = /"type":"(invalid_request|request_error)"/.test(text) && !text.includes('is a directory');
    if (refused) problems.push('a valid request was refused for its form');
  }
  if (status >= 500 && !/"type":"(execution_failed|provisioning_failed|capacity_unavailable)"/.test(text)) {
    problems.push('a failure of the service');
  }
  return problems;
};

/** A request so that it can be sent again: by its bytes. */
export const replayable = (
  request: FuzzRequest,
  bytes: Buffer,
  answer: Incoming | undefined,
  problems: readonly string[],
): string => {
  const shown =
    bytes.length > 6000
      ? `${bytes.subarray(0, 6000).toString('base64')}… (${bytes.length} bytes)`
      : bytes.toString('base64');
  return [
    `${request.kind} ${request.operation}: ${request.method} ${request.target.slice(0, 300)}`,
    ...problems.map((problem) => `  ✗ ${problem}`),
    `  answer: ${answer ? `${answer.status} ${answer.text.slice(0, 500)}` : 'none'}`,
    `  replay: base64 -d <<< ${shown} | nc HOST PORT`,
  ].join('\n');
};
