import { type CreateNeeds, createSandbox } from '../../core/sandboxes/create.ts';
import { type DeleteNeeds, deleteSandbox } from '../../core/sandboxes/end.ts';
import { type ExtendNeeds, extendSandbox } from '../../core/sandboxes/extend.ts';
import { getSandbox, listSandboxes } from '../../core/sandboxes/read.ts';
import { accountOf } from '../access.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { deletedSandboxView, sandboxListView, sandboxView } from '../views.ts';

export type SandboxRouteNeeds = CreateNeeds & DeleteNeeds & ExtendNeeds;

/** /sandboxes: create, list, get, delete, extend. */
export function sandboxRoutes(app: HttpApp, { core, operations, publicUrl }: HttpDeps<SandboxRouteNeeds>): void {
  app.route({
    ...routeOf(operations.createSandbox),
    handler: async (request, reply) => {
      const key = request.headers['idempotency-key'] ?? null;
      const { sandbox, created } = await createSandbox(core, accountOf(request), request.body, key);
      request.logged.sandbox_id = sandbox.id;
      if (created) reply.header('location', `${publicUrl()}/v1/sandboxes/${sandbox.id}`);
      return reply.code(created ? 201 : 200).send(sandboxView(sandbox));
    },
  });

  app.route({
    ...routeOf(operations.listSandboxes),
    handler: async (request) => sandboxListView(await listSandboxes(core, accountOf(request), request.query)),
  });

  app.route({
    ...routeOf(operations.getSandbox),
    handler: async (request) => {
      request.logged.sandbox_id = request.params.id;
      return sandboxView(await getSandbox(core, accountOf(request), request.params.id));
    },
  });

  app.route({
    ...routeOf(operations.deleteSandbox),
    handler: async (request, reply) => {
      request.logged.sandbox_id = request.params.id;
      const sandbox = await deleteSandbox(core, accountOf(request), request.params.id);
      if (sandbox.status === 'deleted') return reply.code(200).send(deletedSandboxView(sandbox));
      return reply.code(202).send(sandboxView(sandbox));
    },
  });

  app.route({
    ...routeOf(operations.extendSandbox),
    handler: async (request) => {
      request.logged.sandbox_id = request.params.id;
      return sandboxView(await extendSandbox(core, accountOf(request), request.params.id, request.body));
    },
  });
}
