import { type ErrorEntry, type ErrorType, errorTable, errorTypes } from '../error-table.ts';
import { requestIdPattern } from '../fields.ts';
import { commonErrors, type Operation } from '../operations/operation.ts';
import type { HeaderObject, JsonSchema, MediaTypeObject, Reference, ResponseObject } from './types.ts';

const count: JsonSchema = { type: 'integer', minimum: 0 };

/** Response headers by component name. */
export const headerComponents = {
  RequestId: {
    description: 'The request id in the service logs.',
    required: true,
    schema: { type: 'string', pattern: requestIdPattern.source },
  },
  RateLimitLimit: { description: 'The request limit of the current window.', required: true, schema: count },
  RateLimitRemaining: {
    description: 'The number of requests left in the current window.',
    required: true,
    schema: count,
  },
  RateLimitReset: {
    description: 'Seconds until the window resets.',
    required: true,
    schema: { ...count, maximum: 60 },
  },
  RetryAfter: {
    description: 'Seconds to wait before retrying.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
} as const satisfies Readonly<Record<string, HeaderObject>>;

function header(name: keyof typeof headerComponents): Reference {
  return { $ref: `#/components/headers/${name}` };
}

/** Sent with every response. */
export const commonHeaders = {
  'X-Request-Id': header('RequestId'),
  'RateLimit-Limit': header('RateLimitLimit'),
  'RateLimit-Remaining': header('RateLimitRemaining'),
  'RateLimit-Reset': header('RateLimitReset'),
};

/** Sent with a 429 only. */
const retryHeaders = { 'Retry-After': header('RetryAfter') };

/** Sent with a 201 that creates a resource with its own URL. */
export function locationHeaders(description: string): Readonly<Record<string, HeaderObject>> {
  return { Location: { description, required: true, schema: { type: 'string', format: 'uri' } } };
}

/** Collects the error responses of operations. Equal responses share one component. */
export class ErrorResponses {
  readonly components: Record<string, ResponseObject> = {};

  /** The error responses of an operation, by status. */
  of({ method, errors }: Pick<Operation, 'method' | 'errors'>): Record<string, Reference> {
    const possible = errorTypes.filter((type) => [...commonErrors, ...errors].includes(type));
    const byStatus: Record<string, ErrorType[]> = {};
    for (const type of possible) {
      for (const status of errorTable[type].statuses) {
        // A GET has no body that could be too large.
        if (method === 'GET' && type === 'request_error' && status === 413) continue;
        byStatus[status] = [...(byStatus[status] ?? []), type];
      }
    }
    const responses = Object.entries(byStatus).map(([status, types]) => [
      status,
      this.#component(Number(status), types),
    ]);
    return Object.fromEntries(responses);
  }

  #component(status: number, types: readonly ErrorType[]): Reference {
    const name = [status, ...types].join('.');
    this.components[name] ??= errorResponse(status, types);
    return { $ref: `#/components/responses/${name}` };
  }
}

function errorResponse(status: number, types: readonly ErrorType[]): ResponseObject {
  return {
    description: types.map((type) => `\`${type}\`: ${errorTable[type].cause} ${errorTable[type].hint}`).join('\n\n'),
    headers: { ...commonHeaders, ...(status === 429 && retryHeaders) },
    content: { 'application/json': errorContent(status, types) },
  };
}

function errorContent(status: number, types: readonly ErrorType[]): MediaTypeObject {
  const narrowed = { type: 'object', properties: { type: { enum: types }, message: { type: 'string' } } };
  return {
    schema: { allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { error: narrowed } }] },
    examples: Object.fromEntries(
      types.map((type) => [type, { summary: errorTable[type].cause, value: errorExample(type, status) }]),
    ),
  };
}

/** An example error body. */
export function errorExample(type: ErrorType, status: number) {
  const { statuses, examples }: ErrorEntry = errorTable[type];
  const message = examples[statuses.indexOf(status)] ?? examples[0];
  return { error: { type, message }, request_id: 'req_5f0c9a4be1d27386c4a90b12' };
}
