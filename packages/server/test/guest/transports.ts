import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Duplex, duplexPair } from 'node:stream';

/** Two ends of one byte stream: the host's, then the guest's. */
export type Wire = readonly [host: Duplex, guest: Duplex];

/** The kinds of stream that a channel can consist of: plain Duplex objects, as in tests, and unix sockets, as with QEMU. */
export const transports: readonly { readonly name: string; readonly open: () => Promise<Wire> }[] = [
  { name: 'memory', open: async () => duplexPair() },
  { name: 'unix socket', open: openUnixSocket },
];

export async function openUnixSocket(): Promise<Wire> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-wire-'));
  const path = join(folder, 's');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const host = connect(path);
  await new Promise<void>((resolve) => host.once('connect', resolve));
  const guest = await accepted;
  server.close();
  await rm(folder, { recursive: true });
  return [host, guest];
}
