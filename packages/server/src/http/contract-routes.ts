import { describeFailedRules, type Operation } from '@mayfly/contract';
import type { FastifyRequest, FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { ApiError } from '../core/errors/api-error.ts';
import type { HttpApp } from './http-app.ts';

type Part<Op, Name extends string> = Op extends { readonly [Key in Name]: infer Schema extends z.ZodType }
  ? Schema
  : undefined;

/** What a route needs of an operation, of /v1 or of the dashboard alone. */
interface RoutedOperation extends Pick<Operation, 'id' | 'method' | 'path' | 'responses' | 'acceptsTicket'> {
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodType;
  readonly body?: z.ZodType;
  readonly signedOut?: true;
}

/** The part of a Fastify route that the contract defines. */
interface ContractRoute<Op extends RoutedOperation> {
  readonly method: Op['method'];
  readonly url: string;
  readonly config: { readonly operation: string; readonly acceptsTicket: boolean; readonly signedOut: boolean };
  readonly schema: {
    readonly params: Part<Op, 'params'>;
    readonly querystring: Part<Op, 'query'>;
    readonly headers: Part<Op, 'headers'>;
    readonly body: Part<Op, 'body'>;
    readonly response: Op['responses'];
  };
}

/** An operation of the contract as a Fastify route: method, path and schemas. Only the handler is missing. */
export function routeOf<Op extends RoutedOperation>(operation: Op): ContractRoute<Op> {
  const { id, method, path, params, query, headers, body, responses } = operation;
  const parts = Object.entries({ params, querystring: query, headers, body, response: responses });
  const schema: unknown = Object.fromEntries(parts.filter(([, part]) => part !== undefined));
  return {
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: {
      operation: id,
      acceptsTicket: operation.acceptsTicket ?? false,
      signedOut: operation.signedOut ?? false,
    },
    schema: schema as ContractRoute<Op>['schema'],
  };
}

/** Validates requests against the contract's schemas. Responses are typed by their schemas and serialised as they are. */
export function addValidation(app: HttpApp): void {
  app.setValidatorCompiler(compileZod);
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook('preHandler', (request, _reply, done) => done(validationError(request)));
}

const failed = Symbol('failed rules');

type Issues = readonly { readonly message: string }[];

/**
 * Fastify stops at the first part of a request that fails. A failed part is therefore marked instead of refused, so that
 * `validationError` can report the failures of all parts at once.
 */
const compileZod: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const result = schema.safeParse(data);
    return { value: result.success ? result.data : { [failed]: result.error.issues } };
  };

/** One error with every rule that any part of the request failed. */
function validationError({ params, headers, query, body }: FastifyRequest): ApiError | undefined {
  const parts = [params, headers, query, body];
  if (!parts.some(isFailed)) return undefined;
  return new ApiError('invalid_request', describeFailedRules(parts.flatMap(issuesOf)));
}

function isFailed(part: unknown): part is { readonly [failed]: Issues } {
  return typeof part === 'object' && part !== null && failed in part;
}

function issuesOf(part: unknown): Issues {
  return isFailed(part) ? part[failed] : [];
}
