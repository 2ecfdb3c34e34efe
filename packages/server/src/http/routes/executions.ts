import type { RunCommandBody } from '@mayfly/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { HeldResult } from '../../core/budgets/held-result.ts';
import { getExecution, listExecutions, type ReadExecutionNeeds } from '../../core/executions/execution-records.ts';
import { type LiveCommand, type StartLiveNeeds, startLive } from '../../core/executions/live/start.ts';
import { type RunNeeds, runCommand } from '../../core/executions/run.ts';
import type { AccountRecord } from '../../core/ports/store/account-store.ts';
import type { ExecutionRecord } from '../../core/ports/store/execution-store.ts';
import { accountOf } from '../access.ts';
import { executionJson } from '../bodies/execution-json.ts';
import { releaseOnFailure, sendJson } from '../bodies/json-pieces.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { executionListView, runningExecutionView } from '../views.ts';
import { type EventNeeds, sendExecutionEvents } from './live.ts';

export type ExecutionRouteNeeds = RunNeeds & StartLiveNeeds & ReadExecutionNeeds & EventNeeds;

/** A request to run a command, once it is valid. */
type RunRequest = FastifyRequest & { readonly params: { readonly id: string }; readonly body: RunCommandBody };

/** /sandboxes/{id}/exec, /sandboxes/{id}/executions and /executions/{id}: commands and their results. */
export function executionRoutes(app: HttpApp, deps: HttpDeps<ExecutionRouteNeeds>): void {
  const { core, operations } = deps;
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

  async function startInBackground(request: RunRequest, reply: FastifyReply): Promise<FastifyReply> {
    const account = accountOf(request);
    const { execution } = await startCommand(request, account);
    const { sandboxId, startedAtMs, id } = execution;
    const location = `${deps.publicUrl()}/v1/executions/${id}`;
    const view = runningExecutionView({ id, sandboxId, startedAtMs });
    return reply.code(202).header('location', location).send(view);
  }

  async function streamCommand(request: RunRequest, reply: FastifyReply): Promise<FastifyReply> {
    const account = accountOf(request);
    const stream = core.streams.open(account.id, request.params.id);
    try {
      const { execution, output } = await startCommand(request, account);
      return sendExecutionEvents(reply, core, account, stream, { execution, output });
    } catch (error) {
      stream[Symbol.dispose]();
      throw error;
    }
  }

  async function startCommand(request: RunRequest, account: AccountRecord): Promise<LiveCommand> {
    const command = await startLive(core, account, request.params.id, request.body);
    request.logged.execution_id = command.execution.id;
    return command;
  }

  app.route({
    ...routeOf(operations.runCommand),
    handler: async (request, reply) => {
      request.logged.sandbox_id = request.params.id;
      const account = accountOf(request);
      if (request.body.stream) return streamCommand(request, reply);
      if (request.body.background) return startInBackground(request, reply);
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
