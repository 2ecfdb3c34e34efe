import type { FastifyReply } from 'fastify';
import type { OpenStreams } from '../../core/executions/live/open-streams.ts';
import type { TerminalSize } from '../../core/ports/screens.ts';
import { defaultSize, openTerminal, type TerminalNeeds } from '../../core/terminals/terminals.ts';
import { accountOf } from '../access.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { serveTerminal } from '../sockets/terminal-socket.ts';
import { requireHandshake, WebSockets } from '../sockets/upgrades.ts';

export type TerminalRouteNeeds = TerminalNeeds & { readonly streams: OpenStreams };

/** /sandboxes/{id}/pty: terminals over WebSockets. */
export function terminalRoutes(app: HttpApp, { core, operations, log }: HttpDeps<TerminalRouteNeeds>): void {
  const webSockets = new WebSockets();
  app.route({
    ...routeOf(operations.openTerminal),
    handler: async (request, reply): Promise<FastifyReply> => {
      const sandboxId = request.params.id;
      request.logged.sandbox_id = sandboxId;
      requireHandshake(request);
      const account = accountOf(request);
      const { session: id, cols, rows } = request.query;
      const size = sizeOf(cols, rows);
      const stream = core.streams.open(account.id, sandboxId);
      try {
        const session = await openTerminal(core, account, sandboxId, { session: id, size });
        const webSocket = webSockets.accept(request, reply);
        if (webSocket === undefined) {
          stream[Symbol.dispose]();
          session.release();
          // Nobody was told of a terminal that has just been started.
          if (id === undefined) void session.hangUp();
          return reply;
        }
        const ids = { request_id: request.id, source: request.source, ...request.logged, terminal_id: session.id };
        log.info(ids, 'terminal_opened');
        webSocket.once('close', (code) => log.info({ ...ids, code }, 'terminal_closed'));
        serveTerminal(webSocket, session, stream);
        // Last, because it is its clients that a terminal is resized for.
        if (size !== undefined) void session.resize(size);
        return reply;
      } catch (error) {
        stream[Symbol.dispose]();
        throw error;
      }
    },
  });
}

function sizeOf(cols: number | undefined, rows: number | undefined): TerminalSize | undefined {
  if (cols === undefined && rows === undefined) return undefined;
  return { cols: cols ?? defaultSize.cols, rows: rows ?? defaultSize.rows };
}
