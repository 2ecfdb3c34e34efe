import { getSnapshot, listSnapshots } from '../../core/snapshots/read.ts';
import { type DeleteSnapshotNeeds, deleteSnapshot } from '../../core/snapshots/remove.ts';
import { type TakeSnapshotNeeds, takeSnapshot } from '../../core/snapshots/take.ts';
import { accountOf } from '../access.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { deletedSnapshotView, snapshotListView, snapshotView } from '../views.ts';

export type SnapshotRouteNeeds = TakeSnapshotNeeds & DeleteSnapshotNeeds;

/** /sandboxes/{id}/snapshots and /snapshots: take, list, get, delete. */
export function snapshotRoutes(app: HttpApp, { core, operations, publicUrl }: HttpDeps<SnapshotRouteNeeds>): void {
  app.route({
    ...routeOf(operations.createSnapshot),
    handler: async (request, reply) => {
      const key = request.headers['idempotency-key'] ?? null;
      request.logged.sandbox_id = request.params.id;
      const { snapshot, created } = await takeSnapshot(core, accountOf(request), request.params.id, request.body, key);
      request.logged.snapshot_id = snapshot.id;
      if (created) reply.header('location', `${publicUrl()}/v1/snapshots/${snapshot.id}`);
      return reply.code(created ? 201 : 200).send(snapshotView(snapshot));
    },
  });

  app.route({
    ...routeOf(operations.listSnapshots),
    handler: async (request) => snapshotListView(await listSnapshots(core, accountOf(request), request.query)),
  });

  app.route({
    ...routeOf(operations.getSnapshot),
    handler: async (request) => {
      request.logged.snapshot_id = request.params.id;
      return snapshotView(await getSnapshot(core, accountOf(request), request.params.id));
    },
  });

  app.route({
    ...routeOf(operations.deleteSnapshot),
    handler: async (request) => {
      request.logged.snapshot_id = request.params.id;
      await deleteSnapshot(core, accountOf(request), request.params.id);
      return deletedSnapshotView(request.params.id);
    },
  });
}
