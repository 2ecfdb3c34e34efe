import { executionSchema, idParameters, runCommandBody } from '@mayfly/contract';
import { getExecution } from '../core/executions/get.ts';
import { runCommand } from '../core/executions/run.ts';
import { accountOf } from './authentication.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';
import { executionView } from './views/execution-view.ts';

/** Commands in a sandbox and their results. */
export function executionRoutes(app: HttpApp, { core }: HttpDeps): void {
  app.route({
    method: 'POST',
    url: '/sandboxes/:id/exec',
    schema: { params: idParameters, body: runCommandBody, response: { 200: executionSchema } },
    handler: async (request) => {
      request.logged.sandbox_id = request.params.id;
      const execution = await runCommand(core, accountOf(request), request.params.id, request.body);
      request.logged.execution_id = execution.id;
      return executionView(execution);
    },
  });

  app.route({
    method: 'GET',
    url: '/executions/:id',
    schema: { params: idParameters, response: { 200: executionSchema } },
    handler: async (request) => {
      request.logged.execution_id = request.params.id;
      return executionView(await getExecution(core, accountOf(request), request.params.id));
    },
  });
}
