import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { pipeline } from 'node:stream';
import { FakeRefusal } from './respond.ts';

/** Carries bytes to a port of this host: a fake machine has no localhost of its own. */
export async function openTunnel(stream: ServerHttp2Stream, port: number): Promise<void> {
  const server = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  try {
    await once(server, 'connect');
  } catch {
    throw new FakeRefusal(502, 'refused', `nothing listens on port ${port}`);
  }
  stream.respond({ ':status': 200 });
  pipeline(stream, server, () => {});
  pipeline(server, stream, () => {});
}
