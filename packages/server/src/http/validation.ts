import { describeFailedRules } from '@mayfly/contract';
import type { FastifyRequest, FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { ApiError } from '../core/errors/api-error.ts';
import type { HttpApp } from './http-app.ts';

const failed = Symbol('failed rules');

type Issues = readonly { readonly message: string }[];

/** Checks each part of a request against its schema. A failing part is marked, not thrown, so that all failures are named together. */
const compileZod: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const result = schema.safeParse(data);
    return { value: result.success ? result.data : { [failed]: result.error.issues } };
  };

function isFailed(part: unknown): part is { readonly [failed]: Issues } {
  return typeof part === 'object' && part !== null && failed in part;
}

function issuesOf(part: unknown): Issues {
  return isFailed(part) ? part[failed] : [];
}

/** Why a request is refused: the rules of every part that failed. */
function refusalOf({ params, headers, query, body }: FastifyRequest): ApiError | undefined {
  const parts = [params, headers, query, body];
  if (!parts.some(isFailed)) return undefined;
  return new ApiError('invalid_request', describeFailedRules(parts.flatMap(issuesOf)));
}

/** Validation by the contract's schemas; answers are typed by them and written as they are. */
export function addValidation(app: HttpApp): void {
  app.setValidatorCompiler(compileZod);
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook('preHandler', (request, _reply, done) => done(refusalOf(request)));
}
