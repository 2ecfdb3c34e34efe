import type { Operation } from '@mayfly/contract';
import type { z } from 'zod';

type Part<Op, Name extends string> = Op extends { readonly [Key in Name]: infer Schema extends z.ZodType }
  ? Schema
  : undefined;

/** The parts of a fastify route that the contract decides. */
interface ContractRoute<Op extends Operation> {
  readonly method: Op['method'];
  readonly url: string;
  readonly schema: {
    readonly params: Part<Op, 'params'>;
    readonly querystring: Part<Op, 'query'>;
    readonly headers: Part<Op, 'headers'>;
    readonly body: Part<Op, 'body'>;
    readonly response: Op['responses'];
  };
}

/** An operation as a route: method, path and schemas; what is missing is the handler. */
export function routeOf<Op extends Operation>(operation: Op): ContractRoute<Op> {
  const { method, path, params, query, headers, body, responses } = operation;
  const parts = Object.entries({ params, querystring: query, headers, body, response: responses });
  const schema: unknown = Object.fromEntries(parts.filter(([, part]) => part !== undefined));
  return { method, url: path.replaceAll(/\{(\w+)\}/g, ':$1'), schema: schema as ContractRoute<Op>['schema'] };
}
