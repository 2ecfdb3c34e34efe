import { type ClientRequest, type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { GatewayContext } from '../gateway-context.ts';
import { headersForVisitor } from '../headers/for-visitor.ts';
import { admitVisitor } from './admit-visitor.ts';
import { sendRefusal } from './refusal.ts';
import type { OnVisit } from './request.ts';
import { forwardingChainOf, prepare, relay, sendUpstream } from './upstream.ts';

/** Forwards a WebSocket: after the handshake it copies bytes in both directions until either side closes. */
export async function forwardUpgrade(
  gateway: GatewayContext,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  onVisit: OnVisit,
): Promise<void> {
  const { metrics } = gateway.core;
  const gone = new AbortController();
  socket.on('error', () => {});
  socket.once('close', () => gone.abort());
  const source = forwardingChainOf(gateway, request).at(-1) ?? '';
  try {
    gateway.refused.check(source);
    const visit = await admitVisitor(gateway, request, () => socket.destroy());
    socket.once('close', visit.end);
    if (gone.signal.aborted) return visit.end();
    onVisit(request, visit);
    const prepared = await prepare(gateway, request, visit);
    const headers = { ...prepared.headers, connection: 'Upgrade', upgrade: 'websocket' };
    const upstream = sendUpstream(gateway, request, { ...prepared, headers }, gone.signal, { reuseConnection: false });
    const { answer, tunnel, early } = await answerTo(upstream);
    if (tunnel === undefined) relay(answer, responseOn(request, socket), prepared);
    else {
      const { publicHost, target } = visit;
      const outbound = { rawHeaders: answer.rawHeaders, publicHost, port: target.port, origin: undefined };
      socket.write(switchingProtocols(headersForVisitor(outbound)), 'latin1');
      socket.write(early);
      tunnel.write(head);
      join(socket, tunnel, gateway.limits.idleMs);
    }
    metrics.previewAnswered(tunnel === undefined ? 'served' : 'upgraded');
  } catch (error) {
    if (!gone.signal.aborted) gateway.refused.note(source, sendRefusal(request, responseOn(request, socket), error));
  }
}

/** The server's answer to a handshake: a plain response, or a tunnel with the bytes that already arrived over it. */
interface HandshakeAnswer {
  readonly answer: IncomingMessage;
  readonly tunnel: Duplex | undefined;
  readonly early: Buffer;
}

function answerTo(upstream: ClientRequest): Promise<HandshakeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HandshakeAnswer>();
  upstream.on('error', reject);
  upstream.once('upgrade', (answer, tunnel, early) => resolve({ answer, tunnel, early }));
  upstream.once('response', (answer) => resolve({ answer, tunnel: undefined, early: Buffer.alloc(0) }));
  upstream.end();
  return promise;
}

/** The response that completes the handshake. Node has parsed the values, so they contain no line breaks. */
function switchingProtocols(headers: Readonly<Record<string, string | string[]>>): string {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  const switching = ['HTTP/1.1 101 Switching Protocols', 'connection: Upgrade', 'upgrade: websocket'];
  return [...switching, ...lines, '', ''].join('\r\n');
}

/** Copies bytes in both directions with backpressure. When either side closes, so does the other. */
function join(socket: Duplex, tunnel: Duplex, idleMs: number): void {
  if ('setTimeout' in socket && typeof socket.setTimeout === 'function') {
    socket.setTimeout(idleMs, () => socket.destroy());
  }
  socket.once('close', () => tunnel.destroy());
  tunnel.once('close', () => socket.end(() => socket.destroy()));
  tunnel.on('error', () => socket.destroy());
  socket.pipe(tunnel);
  tunnel.pipe(socket);
}

/** A plain response on a connection that asked for an upgrade. The connection closes after it. */
function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.on('error', () => {});
  response.assignSocket(socket as Socket);
  response.once('finish', () => socket.end());
  return response;
}
