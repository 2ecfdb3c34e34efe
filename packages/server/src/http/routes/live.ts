import type { StdinWrite } from '@mayfly/contract';
import type { FastifyReply } from 'fastify';
import { HeldResult } from '../../core/budgets/held-result.ts';
import type { SharedBudget } from '../../core/budgets/shared-budget.ts';
import { getExecutionSummary } from '../../core/executions/execution-records.ts';
import { type ControlNeeds, killExecution, writeStdin } from '../../core/executions/live/control.ts';
import { type Following, type FollowNeeds, followExecution, openFollowing } from '../../core/executions/live/follow.ts';
import type { OpenStream, OpenStreams } from '../../core/executions/live/open-streams.ts';
import type { AccountRecord } from '../../core/ports/store/account-store.ts';
import { accountOf } from '../access.ts';
import { sendEventStream } from '../bodies/event-stream.ts';
import { executionEventTexts, exitEventId } from '../bodies/execution-events.ts';
import { executionJson } from '../bodies/execution-json.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { executionSummaryView } from '../views.ts';

/** What sending the events of an execution needs. */
export type EventNeeds = FollowNeeds & {
  readonly limits: { readonly captureBytes: number };
  readonly budgets: { readonly resultBytes: SharedBudget };
  readonly streams: OpenStreams;
};

/** Sends the events of an execution over a stream that is open. */
export function sendExecutionEvents(
  reply: FastifyReply,
  core: EventNeeds,
  account: AccountRecord,
  stream: OpenStream,
  following: Pick<Following, 'execution' | 'afterBytes' | 'output'>,
): FastifyReply {
  const held = new HeldResult(core.budgets.resultBytes, account.id);
  reply.raw.once('close', () => held[Symbol.dispose]());
  const events = followExecution(core, account, { ...following, held, signal: stream.signal });
  const texts = executionEventTexts(events, {
    executionId: following.execution.id,
    exitJson: ({ execution }) => executionJson(execution, core.limits.captureBytes),
  });
  return sendEventStream(reply, texts, stream);
}

/** /executions/{id}/stream, /stdin and /kill: running commands. */
export function liveRoutes(app: HttpApp, { core, operations }: HttpDeps<EventNeeds & ControlNeeds>): void {
  app.route({
    ...routeOf(operations.streamExecution),
    handler: async (request, reply): Promise<FastifyReply> => {
      request.logged.execution_id = request.params.id;
      const account = accountOf(request);
      const lastEventId = request.headers['last-event-id'];
      const execution = await getExecutionSummary(core, account, request.params.id);
      if (lastEventId === exitEventId) return reply.code(204).send();
      const afterBytes = lastEventId === undefined ? undefined : Number(lastEventId);
      const stream = core.streams.open(account.id, execution.sandboxId);
      try {
        const output = await openFollowing(core, execution, afterBytes ?? 0);
        return sendExecutionEvents(reply, core, account, stream, { execution, afterBytes, output });
      } catch (error) {
        stream[Symbol.dispose]();
        throw error;
      }
    },
  });

  app.route({
    ...routeOf(operations.writeStdin),
    handler: async (request): Promise<StdinWrite> => {
      const { id } = request.params;
      request.logged.execution_id = id;
      const { data, encoding, close } = request.body;
      const bytes = Buffer.from(data, encoding);
      const { sandboxId } = await writeStdin(core, accountOf(request), id, { bytes, close });
      request.logged.sandbox_id = sandboxId;
      return { object: 'stdin_write', execution_id: id, bytes: bytes.length, closed: close };
    },
  });

  app.route({
    ...routeOf(operations.killExecution),
    handler: async (request) => {
      request.logged.execution_id = request.params.id;
      const execution = await killExecution(core, accountOf(request), request.params.id, request.body);
      request.logged.sandbox_id = execution.sandboxId;
      return executionSummaryView(execution);
    },
  });
}
