import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { GuestAgent } from '../../src/core/ports/guest-agent.ts';
import type { AgentChannel } from '../../src/core/ports/machine-driver.ts';
import { createGuestConnector, type GuestConnectorOptions } from '../../src/guest/connector.ts';
import { emptySettings, rawFrame } from './raw-http2.ts';
import { openUnixSocket, type Wire } from './wire.ts';

/** The guest's side of a channel. Its streams are raw, so that a test can send anything. */
export interface Peer {
  readonly channel: AgentChannel;
  readonly control: Duplex;
  readonly data: Duplex;
  /** Resolves with the nonce of the first attach line. */
  readonly nonce: Promise<string>;
  /** True once the host has called close() on its channel. */
  closed(): boolean;
}

/** Opens a channel and returns the guest's side. */
export async function openPeer(open: () => Promise<Wire> = openUnixSocket): Promise<Peer> {
  const [hostControl, control] = await open();
  const [hostData, data] = await open();
  for (const stream of [control, data]) stream.on('error', () => {});
  let closed = false;
  const nonce = new Promise<string>((resolve) => {
    let seen = '';
    control.on('data', (chunk: Buffer) => {
      seen += chunk.toString('latin1');
      const line = /\nattach ([0-9a-f]{32})\n/.exec(seen);
      if (line?.[1] !== undefined) resolve(line[1]);
    });
  });
  const close = () => {
    closed = true;
    hostControl.destroy();
    hostData.destroy();
  };
  return { channel: { control: hostControl, data: hostData, close }, control, data, nonce, closed: () => closed };
}

/** Attaches to a peer as to a machine that has only this channel. The first attempt may take all of the time. */
export function attachTo(
  { channel }: Peer,
  deadlineMs = 5_000,
  { deadlines, ...options }: GuestConnectorOptions = {},
): Promise<GuestAgent> {
  const connector = createGuestConnector({ ...options, deadlines: { ...deadlines, firstSyncMs: deadlineMs } });
  return connector.attach({ id: 'peer', openAgentChannel: async () => channel }, deadlineMs);
}

/** Answers the attach, with `before` and `after` around the marker. Bytes that the service sends afterwards stay in the stream. */
export async function answerAttach(
  peer: Peer,
  before: Buffer = Buffer.alloc(0),
  after: Buffer = Buffer.alloc(0),
): Promise<void> {
  const nonce = await peer.nonce;
  const sync = Buffer.from(`\nMAYFLY-SYNC ${nonce}\n`);
  let seen = Buffer.alloc(0);
  while (!seen.includes(sync)) {
    const chunk: Buffer = await new Promise((resolve) => peer.data.once('data', resolve));
    peer.data.pause();
    seen = Buffer.concat([seen, chunk]);
  }
  await new Promise<void>((resolve) => peer.data.write(Buffer.concat([before, sync, after]), () => resolve()));
  peer.control.write(`ready ${nonce}\n`);
}

export type Handler = (stream: ServerHttp2Stream, path: string, method: string) => unknown;

/** Answers the attach and serves HTTP/2. Answers /hello itself unless `greet` is false. */
export async function serve(peer: Peer, handler: Handler, greet = true): Promise<ServerHttp2Session> {
  await answerAttach(peer);
  const session = performServerHandshake(peer.data);
  session.on('error', () => {});
  session.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {});
    const path = String(headers[':path']);
    if (greet && path === '/hello') respondJson(stream, 200, hello);
    else void handler(stream, path, String(headers[':method']));
  });
  return session;
}

export const hello = { protocol: 1, version: 'test', kernel: '6.12', boot_ms: 1 };

/** Sends a JSON answer. */
export function respondJson(stream: ServerHttp2Stream, status: number, body: unknown): void {
  stream.respond({ ':status': status });
  stream.end(JSON.stringify(body));
}

/** One frame of a frame stream. */
export function frame(type: number, payload: Buffer | string | object): Buffer {
  const bytes = Buffer.isBuffer(payload)
    ? payload
    : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const header = Buffer.alloc(5);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
}

export const ended = {
  exit_code: 0,
  signal: 0,
  timed_out: false,
  oom_killed: false,
  duration_ms: 5,
  started_at_ms: 1_000,
  finished_at_ms: 1_005,
  stdout_bytes: 2,
  stderr_bytes: 0,
  truncated: false,
};

/** Reads from the host until an HTTP/2 frame of this type arrives (for peers that send raw bytes). */
export function untilFrame(peer: Peer, type: number, prefaceBytes: number): Promise<void> {
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      for (let at = prefaceBytes; at + 9 <= seen.length; at += 9 + seen.readUIntBE(at, 3)) {
        if (seen.readUInt8(at + 3) !== type) continue;
        peer.data.off('data', onData).pause();
        resolve();
        return;
      }
    };
    peer.data.on('data', onData).resume();
  });
}

/** Answers the attach and the hello in raw bytes. The host's next request is stream 3. */
export async function greetRaw(peer: Peer): Promise<void> {
  await answerAttach(peer, Buffer.alloc(0), emptySettings);
  await untilFrame(peer, 1, 24);
  const status200 = Buffer.from([0x88]);
  peer.data.write(rawFrame(1, 4, 1, status200));
  peer.data.write(rawFrame(0, 1, 1, Buffer.from(JSON.stringify(hello))));
}
