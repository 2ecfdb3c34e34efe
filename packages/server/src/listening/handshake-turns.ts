import type { SecureContext, TLSSocket } from 'node:tls';
import { callbackify } from 'node:util';
import { FairTurns } from '../core/scheduling/fair-turns.ts';
import { sourceKey } from '../core/windows/rate-windows.ts';

/** Node calls it for each handshake with a server name, on the connection. */
type SniCallback = (
  this: Pick<TLSSocket, 'remoteAddress'>,
  servername: string,
  done: (error: Error | null, context?: SecureContext) => void,
) => void;

/**
 * Returns an SNICallback that lets `perTurn` TLS handshakes continue in one turn of the event loop, and each source address in its turn. A handshake takes about a
 * millisecond, and a flood of connections arrives in a single turn.
 */
export function handshakesInTurn(
  contextFor: (servername: string) => Promise<SecureContext>,
  perTurn: number,
): SniCallback {
  const turns = new FairTurns(perTurn);
  const whenReady = callbackify(async (source: string, servername: string) => {
    await turns.next(source);
    return contextFor(servername);
  });
  return function contextInTurn(servername, done) {
    whenReady(sourceKey(this.remoteAddress ?? ''), servername, done);
  };
}
