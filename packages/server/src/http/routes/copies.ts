import { type ForkNeeds, forkSandbox } from '../../core/copies/fork.ts';
import { type RollbackNeeds, rollbackSandbox } from '../../core/copies/rollback.ts';
import { accountOf, type CountNeeds, countCreations } from '../access.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { forkResultView, sandboxView } from '../views.ts';

export type CopyRouteNeeds = ForkNeeds & RollbackNeeds & CountNeeds;

/** /sandboxes/{id}/fork and /sandboxes/{id}/rollback. */
export function copyRoutes(app: HttpApp, { core, operations }: HttpDeps<CopyRouteNeeds>): void {
  app.route({
    ...routeOf(operations.forkSandbox),
    handler: async (request, reply) => {
      request.logged.sandbox_id = request.params.id;
      const count = () => countCreations(core, request, request.body.count);
      const outcomes = await forkSandbox(core, accountOf(request), request.params.id, request.body, count);
      return reply.code(201).send({ object: 'list', data: outcomes.map(forkResultView) });
    },
  });

  app.route({
    ...routeOf(operations.rollbackSandbox),
    handler: async (request) => {
      request.logged.sandbox_id = request.params.id;
      return sandboxView(await rollbackSandbox(core, accountOf(request), request.params.id, request.body));
    },
  });
}
