import { dashboardOperations } from '@mayfly/contract/dashboard';
import type { FastifyReply } from 'fastify';
import type { AccountChanges, Changes } from '../../core/changes/account-changes.ts';
import type { OpenStreams } from '../../core/executions/live/open-streams.ts';
import { eventText, keepAliveComment, keepAliveMs, orSilence, sendEventStream } from '../bodies/event-stream.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp } from '../http-app.ts';
import { sandboxView } from '../views.ts';
import { sessionOf } from './session-access.ts';

export interface ChangeRouteNeeds {
  readonly changes: AccountChanges;
  readonly streams: OpenStreams;
}

/** /changes: what changes in the account, pushed to its pages. */
export function changeRoutes(app: HttpApp, { changes, streams }: ChangeRouteNeeds): void {
  app.route({
    ...routeOf(dashboardOperations.streamChanges),
    handler: (request, reply): FastifyReply => {
      const { account } = sessionOf(request);
      const stream = streams.open(account.id, account.id);
      return sendEventStream(reply, changeTexts(changes.follow(account.id, stream.signal)), stream);
    },
  });
}

async function* changeTexts(source: AsyncGenerator<Changes, void>): AsyncGenerator<string, void> {
  let count = 0;
  for await (const changes of orSilence(source, () => keepAliveMs)) {
    if (changes === undefined) {
      yield keepAliveComment;
      continue;
    }
    count += 1;
    const sandboxes = changes.sandboxes?.map((sandbox) => eventText(count, 'sandbox', sandboxView(sandbox)));
    const snapshots = changes.snapshots ? [eventText(count, 'snapshots', {})] : [];
    yield [...(sandboxes ?? [eventText(count, 'reset', {})]), ...snapshots].join('');
  }
}
