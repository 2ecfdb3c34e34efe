import type { Socket } from 'node:net';
import { FairTurns } from '../core/scheduling/fair-turns.ts';
import { sourceKey } from '../core/windows/rate-windows.ts';
import { ClientHelloReader } from './client-hello.ts';

/** How fast TLS handshakes begin. */
export interface HandshakePace {
  /** How many begin in one turn of the event loop. */
  readonly perTurn: number;
  /** How long a client may take for its first message. */
  readonly clientHelloMs: number;
}

/**
 * Returns a listener that hands new connections to a TLS server: each once its client has sent its whole first message, `perTurn` of them in one turn of the event loop, and
 * each source address in its turn. A handshake takes about a millisecond, most of it for that message, and a flood of connections arrives in a single turn. Node's SNICallback
 * could delay only clients that send a server name.
 */
export function handshakesInTurn(
  accept: (socket: Socket) => void,
  { perTurn, clientHelloMs }: HandshakePace,
): (socket: Socket) => void {
  const turns = new FairTurns(perTurn);
  return (socket) => {
    const source = sourceKey(socket.remoteAddress ?? '');
    const destroy = () => socket.destroy();
    const timer = setTimeout(destroy, clientHelloMs);
    const reader = new ClientHelloReader();
    const read = () => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      const state = reader.push(chunk);
      if (state === 'invalid') destroy();
      if (state !== 'complete') return;
      clearTimeout(timer);
      socket.off('readable', read);
      // Node's TLS sockets begin with what the connection below has buffered.
      socket.unshift(reader.take());
      const turn = turns.next(source);
      if (turn === undefined) accept(socket);
      else void turn.then(() => void (socket.destroyed || accept(socket)));
    };
    socket.on('readable', read);
    // The TLS server would not see an end that was read here, and would wait for the rest of the handshake.
    socket.once('end', destroy);
    socket.once('close', () => clearTimeout(timer));
    socket.on('error', () => {});
  };
}
