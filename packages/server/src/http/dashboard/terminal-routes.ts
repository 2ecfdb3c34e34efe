import { fixedLimits } from '@mayfly/contract';
import { dashboardOperations, type TerminalList } from '@mayfly/contract/dashboard';
import { listTerminals, type TerminalNeeds } from '../../core/terminals/terminals.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp } from '../http-app.ts';
import { sessionOf } from './session-access.ts';

export type TerminalListNeeds = Pick<TerminalNeeds, 'store' | 'machines'>;

/** /sandboxes/{id}/terminals: which terminals a page can join. */
export function terminalListRoutes(app: HttpApp, core: TerminalListNeeds): void {
  app.route({
    ...routeOf(dashboardOperations.listTerminals),
    handler: async (request): Promise<TerminalList> => {
      const { id } = request.params;
      request.logged.sandbox_id = id;
      const ids = await listTerminals(core, sessionOf(request).account, id);
      return {
        object: 'list',
        data: ids.map((terminal) => ({ object: 'terminal', id: terminal })),
        limit: fixedLimits.terminalsPerSandbox,
      };
    },
  });
}
