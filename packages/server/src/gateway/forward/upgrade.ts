import { type ClientRequest, type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { GatewayContext } from '../context.ts';
import { headersForVisitor } from '../headers/for-visitor.ts';
import { letIn } from './let-in.ts';
import { relay } from './relay.ts';
import type { OnVisit } from './request.ts';
import { sendRefusal } from './send-refusal.ts';
import { prepare, sendUpstream } from './upstream.ts';

/** Carries a WebSocket to the server in its sandbox: after the handshake, bytes both ways until either side ends. */
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
  try {
    const visit = await letIn(gateway, request, () => socket.destroy());
    socket.once('close', visit.leave);
    if (gone.signal.aborted) return visit.leave();
    onVisit(request, visit);
    const prepared = await prepare(gateway, request, visit);
    const headers = { ...prepared.headers, connection: 'Upgrade', upgrade: 'websocket' };
    const upstream = sendUpstream(gateway, request, { ...prepared, headers }, gone.signal, false);
    const { answer, tunnel, early } = await answerTo(upstream);
    if (tunnel === undefined) relay(answer, responseOn(request, socket), prepared);
    else {
      const { publicHost, target } = visit;
      const shown = { rawHeaders: answer.rawHeaders, publicHost, port: target.port, origin: undefined };
      socket.write(switchingHead(headersForVisitor(shown)), 'latin1');
      socket.write(early);
      tunnel.write(head);
      join(socket, tunnel, gateway.limits.idleMs);
    }
    metrics.previewAnswered(tunnel === undefined ? 'served' : 'upgraded');
  } catch (error) {
    if (!gone.signal.aborted) metrics.previewAnswered(sendRefusal(request, responseOn(request, socket), error));
  }
}

/** What a server said to a socket: a plain answer, or a tunnel with what came over it already. */
interface Switched {
  readonly answer: IncomingMessage;
  readonly tunnel: Duplex | undefined;
  readonly early: Buffer;
}

function answerTo(upstream: ClientRequest): Promise<Switched> {
  const { promise, resolve, reject } = Promise.withResolvers<Switched>();
  upstream.on('error', reject);
  upstream.once('upgrade', (answer, tunnel, early) => resolve({ answer, tunnel, early }));
  upstream.once('response', (answer) => resolve({ answer, tunnel: undefined, early: Buffer.alloc(0) }));
  upstream.end();
  return promise;
}

/** The head that turns the visitor's connection into a socket; values were parsed by Node and hold no line ends. */
function switchingHead(headers: Readonly<Record<string, string | string[]>>): string {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  const switching = ['HTTP/1.1 101 Switching Protocols', 'connection: Upgrade', 'upgrade: websocket'];
  return [...switching, ...lines, '', ''].join('\r\n');
}

/** Passes bytes both ways, each at the other side's speed; the end of either is the end of both. */
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

/** An answer over a connection that did not become a socket; the connection ends with it. */
function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.on('error', () => {});
  response.assignSocket(socket as Socket);
  response.once('finish', () => socket.end());
  return response;
}
