import type { Server, Socket } from 'node:net';
import type { ListeningPort, Metrics } from '../core/ports/metrics.ts';
import type { Log } from '../core/ports/runtime.ts';
import { trustedProxies } from '../core/windows/source-address.ts';
import { type HandshakePace, handshakesInTurn } from './handshake-turns.ts';
import { type ConnectionLimits, SourceLimits } from './source-limits.ts';

interface FloodOptions {
  readonly port: ListeningPort;
  readonly limits: ConnectionLimits;
  /** Of a TLS server; undefined for one without TLS. */
  readonly handshakes: HandshakePace | undefined;
  /** Whose X-Forwarded-For is trusted, see `trustedProxies`. */
  readonly trustProxy: boolean | string;
  readonly metrics: Pick<Metrics, 'connectionRefused'>;
  /** Must be paced, because a flood causes many lines. */
  readonly log: Log;
}

/**
 * Destroys new connections of a source address that has too many, and paces the TLS handshakes of the others. A proxy that the operator has named carries many clients and
 * may have any number of connections. Listeners that are added to the server later also see refused connections, already destroyed.
 */
export function refuseFloods(
  server: Server,
  { port, limits, handshakes, trustProxy, metrics, log }: FloodOptions,
): void {
  const sources = new SourceLimits(limits);
  const isNamedProxy = typeof trustProxy === 'string' ? trustedProxies(trustProxy) : () => false;
  // In front of the server's own listeners: a connection that is refused must cost neither a TLS handshake nor a parser.
  const own = server.listeners('connection');
  server.removeAllListeners('connection');
  const accept = (socket: Socket) => {
    for (const listener of own) Reflect.apply(listener, server, [socket]);
  };
  // A connection that waited here while the server was closed would not be known to closeAllConnections(), and would keep the server from closing.
  const acceptWhileOpen = (socket: Socket) => (server.listening ? accept(socket) : void socket.destroy());
  const pass = handshakes === undefined ? accept : handshakesInTurn(acceptWhileOpen, handshakes);
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (isNamedProxy(remoteAddress ?? '', 0) || sources.admit(socket)) {
      pass(socket);
      return;
    }
    metrics.connectionRefused(port);
    log.info({ port, source: remoteAddress }, 'connection_refused');
    socket.destroy();
  });
}
