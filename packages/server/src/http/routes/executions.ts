import type { FastifyReply } from 'fastify';
import { HeldResult } from '../../core/budgets/held-result.ts';
import type { SharedBudget } from '../../core/budgets/shared-budget.ts';
import { getExecution, listExecutions, type ReadExecutionNeeds } from '../../core/executions/execution-records.ts';
import { type RunNeeds, runCommand } from '../../core/executions/run.ts';
import type { AccountRecord } from '../../core/ports/store/account-store.ts';
import type { ExecutionRecord } from '../../core/ports/store/execution-store.ts';
import { accountOf } from '../access.ts';
import { executionJson } from '../bodies/execution-json.ts';
import { releaseOnFailure, sendJson } from '../bodies/json-pieces.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { executionListView } from '../views.ts';

export type ExecutionRouteNeeds = RunNeeds &
  ReadExecutionNeeds & { readonly budgets: { readonly resultBytes: SharedBudget } };

/** /sandboxes/{id}/exec, /sandboxes/{id}/executions and /executions/{id}: commands and their results. */
export function executionRoutes(app: HttpApp, { core, operations }: HttpDeps<ExecutionRouteNeeds>): void {
  const { captureBytes } = core.limits;

  /** Typed as plain FastifyReply: the schema's type is the object, not its JSON. */
  async function sendExecution(
    reply: FastifyReply,
    account: AccountRecord,
    find: (held: HeldResult) => Promise<ExecutionRecord>,
  ): Promise<FastifyReply> {
    const held = new HeldResult(core.budgets.resultBytes, account.id);
    const execution = await releaseOnFailure(held, find(held));
    return sendJson(reply, executionJson(execution, captureBytes), held);
  }

  app.route({
    ...routeOf(operations.runCommand),
    handler: async (request, reply) => {
      request.logged.sandbox_id = request.params.id;
      const account = accountOf(request);
      return sendExecution(reply, account, async (held) => {
        const execution = await runCommand(core, account, request.params.id, request.body, held);
        request.logged.execution_id = execution.id;
        return execution;
      });
    },
  });

  app.route({
    ...routeOf(operations.getExecution),
    handler: async (request, reply) => {
      request.logged.execution_id = request.params.id;
      const account = accountOf(request);
      return sendExecution(reply, account, (held) => getExecution(core, account, request.params.id, held));
    },
  });

  app.route({
    ...routeOf(operations.listExecutions),
    handler: async (request) => {
      request.logged.sandbox_id = request.params.id;
      return executionListView(await listExecutions(core, accountOf(request), request.params.id, request.query));
    },
  });
}
