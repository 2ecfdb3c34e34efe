import type { responseChecker } from '@mayfly/contract/testing';
import { findProblems } from '../support/conformance/check-response.ts';
import type { HttpResponse } from '../support/conformance/http-client.ts';
import { type FuzzRequest, mayGetNoResponse } from './fuzz-request.ts';

/** Refusals of requests that have the published schema: they depend on what exists, on several fields together, or on a handshake. */
const stateRefusals =
  /is a directory|has the alias|was not taken of sandbox|is not ready|cannot be used together|the size of the (snapshot|template)|stdin must be false|data must be base64|opens a WebSocket/;

/** Everything that is wrong with the response to a fuzz request. */
export function findFuzzProblems(
  request: FuzzRequest,
  response: HttpResponse | undefined,
  checkPublished: ReturnType<typeof responseChecker>,
): string[] {
  if (response === undefined) return mayGetNoResponse(request) ? [] : ['closed without a response'];
  const { status, headers, text } = response;
  // Garbage gets the errors of an unknown path.
  const [method, path] = request.kind === 'garbage' ? ['GET', '/unknown'] : [request.method, request.target];
  // Only responses under the version prefix have rate-limit headers.
  const isUnversioned = request.bytes !== undefined && !Buffer.from(request.bytes).includes('/v1/');
  const problems = findProblems({ method, path, status, headers, text }).filter(
    (problem) => !(isUnversioned && problem.startsWith('ratelimit-')),
  );
  if (request.kind === 'valid') {
    problems.push(...checkPublished({ method, path: `/v1${path}`, status, headers, body: text }));
    const isRefused = /"type":"(invalid_request|request_error)"/.test(text) && !stateRefusals.test(text);
    if (isRefused) problems.push('a valid request failed validation');
  }
  if (status >= 500 && !/"type":"(execution_failed|provisioning_failed|capacity_unavailable)"/.test(text)) {
    problems.push('the service failed');
  }
  return problems;
}

/** Describes a failure, with the bytes of the request to repeat it. */
export function describeFailure(
  request: FuzzRequest,
  bytes: Buffer,
  response: HttpResponse | undefined,
  problems: readonly string[],
): string {
  const shown =
    bytes.length > 6000
      ? `${bytes.subarray(0, 6000).toString('base64')}… (${bytes.length} bytes)`
      : bytes.toString('base64');
  return [
    `${request.kind} ${request.operation}: ${request.method} ${request.target.slice(0, 300)}`,
    ...problems.map((problem) => `  ✗ ${problem}`),
    `  response: ${response ? `${response.status} ${response.text.slice(0, 500)}` : 'none'}`,
    `  replay: base64 -d <<< ${shown} | nc HOST PORT`,
  ].join('\n');
}
