import type { FastifyReply } from 'fastify';
import type { OpenStreams } from '../../core/executions/live/open-streams.ts';
import type { Clock } from '../../core/ports/runtime.ts';
import { getSandbox, requireRunning } from '../../core/sandboxes/read.ts';
import { measureRepeatedly, measureSandbox, type StatsEvent, type StatsNeeds } from '../../core/sandboxes/stats.ts';
import { accountOf } from '../access.ts';
import { eventText, keepAliveComment, keepAliveMs, orSilence, sendEventStream } from '../bodies/event-stream.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { statsView } from '../views.ts';

export type StatsRouteNeeds = StatsNeeds & { readonly clock: Clock; readonly streams: OpenStreams };

/** /sandboxes/{id}/stats: what a sandbox uses, once and as a stream. */
export function statsRoutes(app: HttpApp, { core, operations }: HttpDeps<StatsRouteNeeds>): void {
  app.route({
    ...routeOf(operations.getStats),
    handler: async (request) => {
      const { id } = request.params;
      request.logged.sandbox_id = id;
      return statsView(id, await measureSandbox(core, accountOf(request), id), core.clock.nowMs());
    },
  });

  app.route({
    ...routeOf(operations.streamStats),
    handler: async (request, reply): Promise<FastifyReply> => {
      const { id } = request.params;
      request.logged.sandbox_id = id;
      const account = accountOf(request);
      requireRunning(await getSandbox(core, account, id));
      const stream = core.streams.open(account.id, id);
      const intervalMs = request.query.interval_seconds * 1_000;
      const texts = statsTexts(id, measureRepeatedly(core, account, id, { intervalMs, signal: stream.signal }));
      return sendEventStream(reply, texts, stream);
    },
  });

  async function* statsTexts(id: string, events: AsyncGenerator<StatsEvent, void>): AsyncGenerator<string, void> {
    let count = 0;
    for await (const event of orSilence(events, () => keepAliveMs)) {
      count += 1;
      if (event === undefined) yield keepAliveComment;
      else if (event.kind === 'end') yield eventText('end', 'end', { status: event.status });
      else yield eventText(count, 'stats', statsView(id, event.stats, core.clock.nowMs()));
    }
  }
}
