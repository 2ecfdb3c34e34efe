import type { IncomingHttpHeaders } from 'node:http';
import * as shapes from './body-shapes.ts';
import { either, errorBody, type Shape } from './body-shapes.ts';

export interface CheckedResponse {
  readonly method: string;
  /** Without the version prefix. */
  readonly path: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const wholeNumber = /^\d+$/;

/** Everything that the specification does not allow in a response to this operation. */
export function findProblems(response: CheckedResponse): string[] {
  return [
    ...headerProblems(response),
    ...(response.method === 'HEAD' || response.status === 204 ? [] : bodyProblems(response)),
  ];
}

/** "Every response carries X-Request-Id"; "rate-limit headers are on every response"; "Retry-After appears only on a 429". */
function* headerProblems({ status, headers }: CheckedResponse): Generator<string> {
  if (!headers['x-request-id']) yield 'no X-Request-Id';
  for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']) {
    const value = String(headers[name]);
    if (!wholeNumber.test(value)) yield `${name} is ${value}`;
  }
  if (Number(headers['ratelimit-remaining']) > Number(headers['ratelimit-limit']))
    yield 'ratelimit-remaining exceeds ratelimit-limit';
  if (Number(headers['ratelimit-reset']) > 60) yield 'ratelimit-reset is more than a minute';
  const retryAfter = headers['retry-after'];
  if (status !== 429 && retryAfter !== undefined) yield `Retry-After on a ${status}`;
  if (status === 429 && !wholeNumber.test(String(retryAfter))) yield `Retry-After is ${retryAfter} on a 429`;
}

/** "All bodies are JSON"; "every error response has the Error body shape". */
function* bodyProblems({ method, path, status, headers, text }: CheckedResponse): Generator<string> {
  const isEvents = headers['content-type']?.startsWith('text/event-stream') === true;
  if (isEvents && status === 200 && eventOperations.has(operationKey(method, path))) return;
  if (!/^application\/json\b/.test(headers['content-type'] ?? '')) yield `Content-Type is ${headers['content-type']}`;
  const body = parse(text);
  const operation = operations[operationKey(method, path)] ?? unknownPath;
  const shape = status >= 400 ? errorBody : operation.shapes[status];
  if (shape === undefined) {
    yield `status ${status} is not documented for this operation`;
    return;
  }
  const problem = shape(body);
  if (problem) yield problem;
  if (status < 400 || problem) return;
  const { error, request_id } = body as { error: { type: string; message: string }; request_id: string };
  if (request_id !== headers['x-request-id']) yield `request_id ${request_id} is not the X-Request-Id`;
  if (!documentedErrors[error.type]?.includes(status)) yield `${error.type} does not have status ${status}`;
  if (![...commonErrors, ...operation.errors].includes(error.type))
    yield `${error.type} is not documented for this operation`;
  if (error.message === '') yield 'the message is empty';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The statuses of each error type, from the error table of the specification. */
const documentedErrors: Readonly<Record<string, readonly number[]>> = {
  invalid_request: [400],
  unauthorized: [401],
  invalid_api_key: [401],
  account_suspended: [403],
  insufficient_credits: [402],
  not_found: [404],
  sandbox_not_running: [409],
  // Beyond the specification.
  execution_not_running: [409],
  rate_limit_exceeded: [429],
  quota_exceeded: [429],
  execution_failed: [502],
  provisioning_failed: [503],
  capacity_unavailable: [503],
  internal_error: [500],
  write_failed: [400],
  read_failed: [400],
  list_failed: [400],
  file_too_large: [413],
  // "client error before any handler ran"
  request_error: [400, 408, 413, 414, 431],
};

/** The responses that an operation may have. */
interface DocumentedResponses {
  readonly shapes: Readonly<Record<number, Shape>>;
  /** In addition to the common errors. */
  readonly errors: readonly string[];
}

/** The errors that every operation may have. */
const commonErrors = [
  'unauthorized',
  'invalid_api_key',
  'account_suspended',
  'rate_limit_exceeded',
  'request_error',
  'internal_error',
] as const;

const needsRunning = ['not_found', 'sandbox_not_running'];
// The specification defines "connection dropped" for commands only; no other error fits a file operation that lost its connection.
const needsFiles = [...needsRunning, 'execution_failed'];
const needsCommand = [...needsFiles, 'invalid_request', 'execution_not_running'];
const needsMachine = ['insufficient_credits', 'quota_exceeded', 'provisioning_failed', 'capacity_unavailable'];
const { sandbox, execution, snapshot } = shapes;

/** Every operation of the specification and the design, by method and path. */
const operations: Readonly<Record<string, DocumentedResponses>> = {
  'POST /sandboxes': {
    shapes: { 200: sandbox, 201: (body) => sandbox(body) ?? shapes.runningSandbox(body) },
    errors: [
      'invalid_request',
      // Of `snapshot_id` and `template`.
      'not_found',
      ...needsMachine,
    ],
  },
  'GET /sandboxes': { shapes: { 200: shapes.sandboxList }, errors: ['invalid_request'] },
  'GET /sandboxes/{}': { shapes: { 200: sandbox }, errors: ['not_found'] },
  'DELETE /sandboxes/{}': { shapes: { 200: shapes.deletedSandbox, 202: sandbox }, errors: ['not_found'] },
  'POST /sandboxes/{}/exec': {
    shapes: { 200: execution, 202: execution },
    errors: [...needsRunning, 'invalid_request', 'insufficient_credits', 'execution_failed'],
  },
  'GET /sandboxes/{}/stats': { shapes: { 200: shapes.stats }, errors: needsFiles },
  'GET /sandboxes/{}/stats/{}': { shapes: {}, errors: [...needsFiles, 'invalid_request'] },
  'GET /sandboxes/{}/executions': {
    shapes: { 200: shapes.executionList },
    errors: ['invalid_request', 'not_found'],
  },
  'POST /sandboxes/{}/ports': { shapes: { 201: shapes.port }, errors: ['invalid_request', 'not_found'] },
  'GET /sandboxes/{}/ports': { shapes: { 200: shapes.portList }, errors: ['not_found'] },
  'DELETE /sandboxes/{}/ports/{}': {
    shapes: { 200: shapes.closedPort },
    errors: ['invalid_request', 'not_found'],
  },
  'PUT /sandboxes/{}/files': {
    shapes: { 201: shapes.writtenFile },
    errors: [...needsFiles, 'invalid_request', 'write_failed', 'file_too_large'],
  },
  'GET /sandboxes/{}/files': {
    shapes: { 200: either(shapes.readFile, shapes.directory) },
    errors: [...needsFiles, 'invalid_request', 'read_failed', 'list_failed', 'file_too_large'],
  },
  'DELETE /sandboxes/{}/files': {
    shapes: { 200: shapes.deletedFile },
    errors: [...needsFiles, 'invalid_request', 'write_failed'],
  },
  'POST /sandboxes/{}/extend': { shapes: { 200: sandbox }, errors: [...needsRunning, 'invalid_request'] },
  'POST /sandboxes/{}/snapshots': {
    shapes: { 200: snapshot, 201: snapshot },
    errors: [...needsRunning, 'invalid_request', ...needsMachine],
  },
  'GET /snapshots': { shapes: { 200: shapes.snapshotList }, errors: ['invalid_request'] },
  'GET /snapshots/{}': { shapes: { 200: snapshot }, errors: ['not_found'] },
  'DELETE /snapshots/{}': { shapes: { 200: shapes.deletedSnapshot }, errors: ['not_found'] },
  'POST /sandboxes/{}/fork': {
    shapes: { 201: shapes.forkList },
    errors: [...needsRunning, 'invalid_request', ...needsMachine],
  },
  'POST /sandboxes/{}/rollback': {
    shapes: { 200: sandbox },
    errors: [...needsRunning, 'invalid_request', 'provisioning_failed', 'capacity_unavailable'],
  },
  'GET /executions/{}': { shapes: { 200: execution }, errors: ['not_found'] },
  'GET /executions/{}/stream': { shapes: {}, errors: ['invalid_request', 'not_found', 'execution_failed'] },
  'POST /executions/{}/stdin': { shapes: { 200: shapes.stdinWrite }, errors: needsCommand },
  'POST /executions/{}/kill': { shapes: { 200: shapes.executionSummary }, errors: needsCommand },
  'GET /usage': { shapes: { 200: shapes.usage }, errors: ['invalid_request'] },
  'GET /account': { shapes: { 200: shapes.account }, errors: [] },
  'GET /sandboxes/{}/pty': { shapes: {}, errors: [...needsFiles, 'invalid_request', 'insufficient_credits'] },
  'POST /tickets': { shapes: { 201: shapes.ticket }, errors: [] },
};

/** Operations that answer with server-sent events, always or if asked to. */
const eventOperations = new Set([
  'POST /sandboxes/{}/exec',
  'GET /executions/{}/stream',
  // The last part is taken for an id.
  'GET /sandboxes/{}/stats/{}',
]);

/** Any other path. */
const unknownPath: DocumentedResponses = { shapes: {}, errors: ['not_found'] };

/** The key of an operation in `operations`, with `{}` for path parameters. */
function operationKey(method: string, path: string): string {
  const parts = (path.split(/[?#]/)[0] ?? '').split('/').slice(1);
  const hasIds = ['sandboxes', 'executions', 'snapshots'].includes(parts[0] ?? '');
  const named = parts.map((part, at) => (at % 2 === 1 && hasIds ? '{}' : part));
  return `${method} /${named.join('/')}`;
}
