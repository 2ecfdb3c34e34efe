import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let made = 0;

/** Two ends of a real socket: Node's HTTP/2 gets stuck over streams that are none when much goes both ways. */
export async function socketPair(): Promise<[Socket, Socket]> {
  made += 1;
  const path = join(tmpdir(), `mayfly-fake-${process.pid}-${made}.sock`);
  const server = createServer({ allowHalfOpen: true });
  server.listen(path);
  await once(server, 'listening');
  const near = connect({ path, allowHalfOpen: true });
  const [[far]] = await Promise.all([once(server, 'connection'), once(near, 'connect')]);
  // Closing it removes its file.
  server.close();
  return [near, far as Socket];
}
