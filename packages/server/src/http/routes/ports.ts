import {
  closePreview,
  listPreviews,
  type ManagePreviewsNeeds,
  openPreview,
} from '../../core/previews/manage-previews.ts';
import { accountOf } from '../access.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { closedPortView, portListView, portView } from '../views.ts';

/** /sandboxes/{id}/ports: the public URLs of a sandbox's ports. */
export function portRoutes(app: HttpApp, { core, operations, previewUrl }: HttpDeps<ManagePreviewsNeeds>): void {
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
