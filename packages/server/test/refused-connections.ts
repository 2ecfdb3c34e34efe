import { once } from 'node:events';
import { connect } from 'node:net';

/** Opens connections to a port of this host, one after the other, each of which the server must close. */
export async function openRefusedConnections(port: number, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    const socket = connect({ host: '127.0.0.1', port }).on('error', () => {});
    socket.resume();
    await once(socket, 'close');
  }
}
