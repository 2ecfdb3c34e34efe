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

function issuesOf(part: unknown): Issues {
  return typeof part === 'object' && part !== null && failed in part ? (part[failed] as Issues) : [];
}

/** Refuses a request with the rules of every part that failed. */
function refuseInvalid({ params, headers, query, body }: FastifyRequest): void {
  const issues = [params, headers, query, body].flatMap(issuesOf);
  if (issues.length > 0) throw new ApiError('invalid_request', describeFailedRules(issues));
}

/** Validation by the contract's schemas; answers are typed by them and written as they are. */
export function addValidation(app: HttpApp): void {
  app.setValidatorCompiler(compileZod);
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook('preHandler', async (request) => refuseInvalid(request));
}
