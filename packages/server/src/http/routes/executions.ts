import { getExecution, listExecutions } from '../../core/executions/execution-records.ts';
import { runCommand } from '../../core/executions/run.ts';
import { accountOf } from '../access.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { executionListView, executionView } from '../views.ts';

/** /sandboxes/{id}/exec, /sandboxes/{id}/executions and /executions/{id}: commands and their results. */
export function executionRoutes(app: HttpApp, { core, operations }: HttpDeps): void {
  const { captureBytes } = core.limits;

  app.route({
    ...routeOf(operations.runCommand),
    handler: async (request) => {
      request.logged.sandbox_id = request.params.id;
      const execution = await runCommand(core, accountOf(request), request.params.id, request.body);
      request.logged.execution_id = execution.id;
      return executionView(execution, captureBytes);
    },
  });

  app.route({
    ...routeOf(operations.getExecution),
    handler: async (request) => {
      request.logged.execution_id = request.params.id;
      return executionView(await getExecution(core, accountOf(request), request.params.id), captureBytes);
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
