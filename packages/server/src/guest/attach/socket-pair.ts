import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** The two ends of a connection of this process with itself. */
export interface SocketPair {
  /** Nothing was read from it, and no write is pending, so `node:http2` may take it over. */
  readonly fresh: Socket;
  /** Passes what it reads to the reader of the pair. */
  readonly other: Socket;
}

/** Reads one end of a pair without a buffer of its own for each read. */
export interface PairReader {
  readonly buffer: Buffer;
  /** Gets bytes that are in the buffer until the next call. After `false` there is no other call until the end is resumed. */
  readonly take: (bytes: Buffer) => boolean;
}

/** Other programs of the host can see the name of the socket and connect to it. Each connection gets a token of its own, so ours is recognised. */
const tokenBytes = 32;

/**
 * Returns a pair of unix sockets, which Node has no function for: a listener with an abstract name, which leaves nothing in the file system, accepts one
 * connection. Throws if a socket cannot be opened, for example because the process has too many.
 */
export async function openSocketPair(reader: PairReader): Promise<SocketPair> {
  const name = `\0mayfly-${randomBytes(16).toString('hex')}`;
  const accepted = new Map<string, { readonly socket: Socket; readonly written: Promise<void> }>();
  const server = createServer((socket) => {
    const token = randomBytes(tokenBytes);
    socket.on('error', () => {});
    const written = new Promise<void>((done) => socket.write(token, () => done()));
    accepted.set(token.toString('hex'), { socket, written });
  });
  const { promise: ourToken, resolve, reject } = Promise.withResolvers<string>();
  let token = '';
  const read = (count: number): boolean => {
    if (token.length === 2 * tokenBytes) return reader.take(reader.buffer.subarray(0, count));
    token += reader.buffer.toString('hex', 0, count);
    if (token.length >= 2 * tokenBytes) resolve(token);
    return true;
  };
  try {
    server.listen(name);
    await once(server, 'listening');
    server.on('error', reject);
    const other = connect({ path: name, onread: { buffer: reader.buffer, callback: read } });
    other.on('error', reject);
    other.once('close', () => reject(new Error('a connection of the service with itself was closed')));
    const ours = accepted.get(await ourToken);
    if (ours === undefined) throw new Error('a connection of the service with itself was answered by another program');
    await ours.written;
    accepted.delete(token);
    return { fresh: ours.socket, other };
  } finally {
    server.close();
    for (const stranger of accepted.values()) stranger.socket.destroy();
  }
}
