import { once } from 'node:events';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';

/** The first message of a TLS client (ClientHello), with a server name or without. */
export async function clientHelloFor(servername: string | undefined): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const socket = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => {
      resolve(chunk);
      done();
    },
  });
  const client = connectTls({ socket, ...(servername !== undefined && { servername }) });
  const clientHello = await promise;
  client.destroy();
  return clientHello;
}

/**
 * Sends a ClientHello to a TLS server of this process over `count` connections, all in one turn of the event loop; the first `before` bytes are sent earlier. Returns how many were answered in
 * each turn.
 */
export async function sendAtOnce(
  port: number,
  count: number,
  clientHello: Buffer,
  before = 0,
): Promise<readonly number[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  if (before > 0) for (const socket of sockets) socket.write(clientHello.subarray(0, before));
  // The server accepts one connection per turn.
  for (let turns = 0; turns < 4 * count; turns += 1) await nextTurn();
  const perTurn: number[] = [];
  let answered = 0;
  const note = () => {
    if (answered === 0) {
      setImmediate(() => {
        perTurn.push(answered);
        answered = 0;
      });
    }
    answered += 1;
  };
  const answers = sockets.map((socket) => once(socket, 'data').then(note));
  for (const socket of sockets) socket.write(clientHello.subarray(before));
  await Promise.all(answers);
  await nextTurn();
  for (const socket of sockets) socket.destroy();
  return perTurn;
}

/** Floods of ClientHellos: their server name, and how many of their bytes are sent beforehand. */
export const clientHelloFloods = [
  ['with a server name', 'a.localhost', 0],
  ['without a server name', undefined, 0],
  ['whose first bytes were there before', undefined, 50],
] as const;
