import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

/** Two ends of one byte stream: the host's, then the guest's. */
export type Wire = readonly [host: Duplex, guest: Duplex];

/**
 * Opens a connected pair of unix sockets, as a channel has with QEMU. Tests of HTTP/2 use no plain Duplex objects: Node wraps them for HTTP/2 in a
 * class of its own that fails an internal assertion when a write meets a stream that is being closed.
 */
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
