import * as shapes from './documented-shapes.ts';
import { either, type Shape } from './shape.ts';

/** The error table of the specification: which statuses a type comes with. */
export const documentedErrors: Readonly<Record<string, readonly number[]>> = {
  invalid_request: [400],
  unauthorized: [401],
  invalid_api_key: [401],
  account_suspended: [403],
  insufficient_credits: [402],
  not_found: [404],
  sandbox_not_running: [409],
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

/** What an operation may answer. */
export interface DocumentedAnswers {
  readonly shapes: Readonly<Record<number, Shape>>;
  /** Besides those that every operation has. */
  readonly errors: readonly string[];
}

/** The errors of every operation. */
export const commonErrors = [
  'unauthorized',
  'invalid_api_key',
  'account_suspended',
  'rate_limit_exceeded',
  'request_error',
  'internal_error',
] as const;

const needsRunning = ['not_found', 'sandbox_not_running'];
// "connection dropped": the specification says it of commands; a file operation has nothing better to answer.
const needsFiles = [...needsRunning, 'execution_failed'];
const { sandbox } = shapes;
const { execution } = shapes;

/** Every operation of the specification and the design, by method and path. */
const documented: Readonly<Record<string, DocumentedAnswers>> = {
  'POST /sandboxes': {
    shapes: { 200: sandbox, 201: (body) => sandbox(body) ?? shapes.runningSandbox(body) },
    errors: [
      'invalid_request',
      'insufficient_credits',
      'quota_exceeded',
      'provisioning_failed',
      'capacity_unavailable',
    ],
  },
  'GET /sandboxes': { shapes: { 200: shapes.sandboxList }, errors: ['invalid_request'] },
  'GET /sandboxes/{}': { shapes: { 200: sandbox }, errors: ['not_found'] },
  'DELETE /sandboxes/{}': { shapes: { 200: shapes.deletedSandbox, 202: sandbox }, errors: ['not_found'] },
  'POST /sandboxes/{}/exec': {
    shapes: { 200: execution },
    errors: [...needsRunning, 'invalid_request', 'insufficient_credits', 'execution_failed'],
  },
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
  'GET /executions/{}': { shapes: { 200: execution }, errors: ['not_found'] },
  'GET /usage': { shapes: { 200: shapes.usage }, errors: ['invalid_request'] },
  'GET /account': { shapes: { 200: shapes.account }, errors: [] },
};

/** A path that is none of the interface: nothing but errors. */
const unknownPath: DocumentedAnswers = { shapes: {}, errors: ['not_found'] };

/** The operation that a method and a path below the version prefix name, with `{}` for its parameters. */
export const operationOf = (method: string, path: string): string => {
  const parts = (path.split(/[?#]/)[0] ?? '').split('/').slice(1);
  const named = parts.map((part, at) =>
    at % 2 === 1 && (parts[0] === 'sandboxes' || parts[0] === 'executions') ? '{}' : part,
  );
  return `${method} /${named.join('/')}`;
};

/** What the specification lets that operation answer. */
export const documentedAnswers = (operation: string): DocumentedAnswers => documented[operation] ?? unknownPath;
