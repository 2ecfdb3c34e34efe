import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { connect, type TLSSocket } from 'node:tls';
import { type Place, routeTo } from './route.ts';

const deadlineMs = 15_000;

/** A bare TLS connection to a preview. */
export const connectRaw = async (place: Place, protocol: 'http/1.1' | 'h2' = 'http/1.1'): Promise<TLSSocket> => {
  const socket = connect({ ...routeTo(place), ALPNProtocols: [protocol] });
  await once(socket, 'secureConnect');
  return socket;
};

/** Sends bytes as they are and gives all that comes back until the other side closes; fails if it does not. */
export const speak = async (place: Place, bytes: string): Promise<string> => {
  const socket = await connectRaw(place);
  const deadline = setTimeout(() => socket.destroy(new Error('the connection was not closed')), deadlineMs);
  socket.write(bytes, 'latin1');
  try {
    return await text(socket);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNRESET') return '';
    throw error;
  } finally {
    clearTimeout(deadline);
    socket.destroy();
  }
};
