import type { Ticket } from '@mayfly/contract';
import { keyHashIn } from '../../core/accounts/authenticate.ts';
import type { Tickets } from '../../core/accounts/tickets.ts';
import { accountOf } from '../access.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';

export interface TicketRouteNeeds {
  readonly tickets: Tickets;
}

/** /tickets: what browsers send in place of a key. */
export function ticketRoutes(app: HttpApp, { core, operations }: HttpDeps<TicketRouteNeeds>): void {
  app.route({
    ...routeOf(operations.createTicket),
    handler: async (request, reply): Promise<Ticket> => {
      // No ticket is accepted here, so this header is what authenticated the request.
      const keyHash = keyHashIn(request.headers.authorization);
      const { ticket, expiresAtMs } = core.tickets.create(accountOf(request).id, keyHash);
      reply.code(201).header('cache-control', 'no-store');
      return { object: 'ticket', ticket, expires_at: new Date(expiresAtMs).toISOString() };
    },
  });
}
