import { describeFailedRules } from '@mayfly/contract';
import type { AdminOperation } from '@mayfly/contract/admin/operation.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { AccountRefusal } from '../core/accounts/refusal.ts';

type Output<Op, Part extends 'params' | 'body'> = Op extends { readonly [Name in Part]: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : undefined;

/** What a request brings, checked. */
interface Input<Op> {
  readonly params: Output<Op, 'params'>;
  readonly body: Output<Op, 'body'>;
}

/** Answers one operation of the administrative interface; the handler sees only what the operation's schemas let through. */
export function serve<Op extends AdminOperation>(
  app: FastifyInstance,
  operation: Op,
  handler: (input: Input<Op>) => Promise<z.output<Op['response']>>,
): void {
  const { method, path, params = z.undefined(), body = z.undefined() } = operation;
  const input = z.object({ params, body });
  app.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request) => {
      const given = {
        params: operation.params && request.params,
        body: operation.body && (request.body ?? {}),
      };
      const { success, data, error } = input.safeParse(given);
      if (!success) throw new AccountRefusal('invalid_request', describeFailedRules(error.issues));
      return await handler(data as Input<Op>);
    },
  });
}
