import type { ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Connection } from '../attach/connection.ts';
import { openStream } from './open-stream.ts';

/** Opens a connection to a port inside the guest. It closes once the guest has ended its side, or with the agent's connection. */
export async function openTunnel(connection: Connection, port: number, deadlineMs: number): Promise<Duplex> {
  const path = `/tunnels?port=${port}`;
  return toTunnel(await openStream(connection, { method: 'POST', path, isDuplex: true, deadlineMs }));
}

/** Makes the stream close when the guest ends its side. An error that nobody listens for must not end the process. */
function toTunnel(stream: ClientHttp2Stream): Duplex {
  stream.on('error', () => {});
  stream.once('end', () => stream.end());
  skipEmptyWrites(stream);
  return stream;
}

/**
 * Works around a bug in Node's HTTP/2: when a batch of writes contains an empty one near its end, Node completes the batch and releases its
 * buffers before they are sent, and other memory goes to the guest instead. Node's HTTP client ends every body with an empty write.
 */
function skipEmptyWrites(stream: ClientHttp2Stream): void {
  const writeAll = stream._writev?.bind(stream);
  if (writeAll === undefined) return;
  stream._writev = (chunks, done) => {
    const full = chunks.filter(({ chunk }) => (chunk as string | Buffer).length > 0);
    if (full.length === 0) done();
    else writeAll(Object.assign(full, { allBuffers: full.every(({ chunk }) => typeof chunk !== 'string') }), done);
  };
}
