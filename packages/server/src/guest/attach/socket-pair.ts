import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** The two ends of a connection of this process with itself. */
export interface SocketPair {
  /** Nothing was read from it, and no write is pending, so `node:http2` may take it over. */
  readonly fresh: Socket;
  readonly other: Socket;
}

/** Other programs of the host can see the name of the socket and connect to it; they do not know the token. */
const tokenBytes = 32;

/**
 * Returns a pair of unix sockets, which Node has no function for: a listener with an abstract name, which leaves nothing in the file system, accepts one
 * connection. Throws if a socket cannot be opened, for example because the process has too many.
 */
export async function openSocketPair(): Promise<SocketPair> {
  const token = randomBytes(tokenBytes);
  const name = `\0mayfly-${randomBytes(16).toString('hex')}`;
  const { promise: accepted, resolve, reject } = Promise.withResolvers<Socket>();
  const strangers = new Set<Socket>();
  const server = createServer((socket) => {
    strangers.add(socket);
    socket.on('error', () => {});
    socket.once('readable', () => {
      const found = socket.read(tokenBytes) as Buffer | null;
      if (found?.equals(token) !== true) return;
      strangers.delete(socket);
      resolve(socket);
    });
  });
  try {
    server.listen(name);
    await once(server, 'listening');
    server.on('error', reject);
    const fresh = connect(name);
    fresh.on('error', reject);
    fresh.once('close', () => reject(new Error('a connection of the service with itself was closed')));
    await Promise.all([new Promise<void>((done) => fresh.write(token, () => done())), accepted]);
    return { fresh, other: await accepted };
  } finally {
    server.close();
    for (const stranger of strangers) stranger.destroy();
  }
}
