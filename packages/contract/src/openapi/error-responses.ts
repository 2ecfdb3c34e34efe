import { type ErrorEntry, type ErrorType, errorTable, errorTypes } from '../errors/error-table.ts';
import { commonErrors, type Operation } from '../operations/operation.ts';
import { commonHeaders, retryHeaders } from './headers.ts';
import type { MediaTypeObject, Reference, ResponseObject } from './types.ts';

/** Turns the errors that an operation can answer into responses by status; each is kept once, as a component. */
export class ErrorResponses {
  readonly components: Record<string, ResponseObject> = {};

  of({ method, errors }: Pick<Operation, 'method' | 'errors'>): Record<string, Reference> {
    const possible = errorTypes.filter((type) => [...commonErrors, ...errors].includes(type));
    const byStatus: Record<string, ErrorType[]> = {};
    for (const type of possible) {
      for (const status of errorTable[type].statuses) {
        // The body of a GET is not read.
        if (method === 'GET' && type === 'request_error' && status === 413) continue;
        byStatus[status] = [...(byStatus[status] ?? []), type];
      }
    }
    const responses = Object.entries(byStatus).map(([status, types]) => [status, this.#keep(Number(status), types)]);
    return Object.fromEntries(responses);
  }

  #keep(status: number, types: readonly ErrorType[]): Reference {
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
  const narrowed = { type: 'object', properties: { type: { enum: types } } };
  return {
    schema: { allOf: [{ $ref: '#/components/schemas/Error' }, { type: 'object', properties: { error: narrowed } }] },
    examples: Object.fromEntries(
      types.map((type) => [type, { summary: errorTable[type].cause, value: errorExample(type, status) }]),
    ),
  };
}

/** An error body as a caller may see it. */
export function errorExample(type: ErrorType, status: number) {
  const { statuses, examples }: ErrorEntry = errorTable[type];
  const message = examples[statuses.indexOf(status)] ?? examples[0];
  return { error: { type, message }, request_id: 'req_5f0c9a4be1d27386c4a90b12' };
}
