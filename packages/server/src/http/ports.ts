import { closePreview } from '../core/previews/close.ts';
import { listPreviews } from '../core/previews/list.ts';
import { openPreview } from '../core/previews/open.ts';
import { accountOf } from './authentication.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';
import { routeOf } from './route.ts';
import { closedPortView, portListView, portView } from './views/port-view.ts';

/** /sandboxes/{id}/ports: the public URLs of a sandbox's ports. */
export function portRoutes(app: HttpApp, { core, operations, previewUrl }: HttpDeps): void {
  app.route({
    ...routeOf(operations.exposePort),
    handler: async (request, reply) => {
      request.logged.sandbox_id = request.params.id;
      const preview = await openPreview(core, accountOf(request), request.params.id, request.body.port);
      return reply.code(201).send(portView(preview, previewUrl));
    },
  });

  app.route({
    ...routeOf(operations.listPorts),
    handler: async (request) => {
      request.logged.sandbox_id = request.params.id;
      return portListView(await listPreviews(core, accountOf(request), request.params.id), previewUrl);
    },
  });

  app.route({
    ...routeOf(operations.closePort),
    handler: async (request) => {
      const { id, port } = request.params;
      request.logged.sandbox_id = id;
      await closePreview(core, accountOf(request), id, port);
      return closedPortView(id, port);
    },
  });
}
