import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { fixedLimits } from '@mayfly/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { ApiError } from '../../core/errors/api-error.ts';
import { windowHeaders } from '../access.ts';
import type { HttpApp } from '../http-app.ts';

/** How long a client may take to read the answer to an upgrade that was refused. */
const closeDelayMs = 5_000;
const terminalUrl = /^\/(?:v1|app\/api)\/sandboxes\/[^/?#]+\/pty(?:[?#]|$)/;
const webSocketKey = /^[+/0-9A-Za-z]{22}==$/;

/** What a request to upgrade leaves of its connection. */
interface Upgrade {
  readonly socket: Socket;
  /** Bytes that came after the request. */
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Whether a request may become a WebSocket. All other upgrades are ignored and answered as if they had not been asked for, as HTTP allows. So are those
 * on a connection that has an earlier response to send: Node would let go of the connection before that is sent.
 */
export function asksForWebSocket({ url = '', headers, socket }: IncomingMessage): boolean {
  if (headers.upgrade?.toLowerCase() !== 'websocket' || !terminalUrl.test(url)) return false;
  if (isAnswering(socket)) return false;
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

/** Node keeps the response that is being sent over a connection in a field of its own. */
function isAnswering(socket: Socket & { readonly _httpMessage?: object | null }): boolean {
  return socket._httpMessage !== undefined && socket._httpMessage !== null;
}

/** Sends requests to upgrade through the routes like all others, so that they are admitted, counted, validated and refused in the same way. */
export function routeUpgrades(app: HttpApp): void {
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // An error that nobody waits for must not end the process: the connection is closed then.
    socket.on('error', () => {});
    if (isAnswering(socket)) {
      socket.destroy();
      return;
    }
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => {
      socket.end();
      setTimeout(() => socket.destroy(), closeDelayMs).unref();
    });
    upgrades.set(request, { socket, head });
    app.routing(request, response);
  });
}

/** Throws unless the request is a handshake that will succeed. */
export function requireHandshake({ raw: request }: FastifyRequest): void {
  const { headers } = request;
  if (!upgrades.has(request)) {
    throw new ApiError('request_error', 'This operation opens a WebSocket. Send the handshake of one, without a body.');
  }
  if (headers['sec-websocket-version'] !== '13' || !webSocketKey.test(headers['sec-websocket-key'] ?? '')) {
    throw new ApiError('request_error', 'The WebSocket handshake is not valid: version 13 and a key are required.');
  }
}

/** Accepts WebSockets. */
export class WebSockets {
  readonly #headers = new WeakMap<IncomingMessage, readonly string[]>();
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // Answered by `TerminalSocket`, which does not let answers pile up.
    autoPong: false,
    maxPayload: fixedLimits.terminalMessageBytes,
  });

  constructor() {
    this.#server.on('headers', (headers, request) => headers.push(...(this.#headers.get(request) ?? [])));
  }

  /** Completes a handshake. Undefined if the client has gone. */
  accept(request: FastifyRequest, reply: FastifyReply): WebSocket | undefined {
    const upgrade = upgrades.get(request.raw);
    reply.hijack();
    if (upgrade === undefined) return undefined;
    const { socket, head } = upgrade;
    reply.raw.detachSocket(socket);
    const window = request.counted === undefined ? {} : windowHeaders(request.counted.current());
    const headers = Object.entries({ 'x-request-id': request.id, ...window });
    this.#headers.set(
      request.raw,
      headers.map(([name, value]) => `${name}: ${value}`),
    );
    let accepted: WebSocket | undefined;
    this.#server.handleUpgrade(request.raw, socket, head, (webSocket) => {
      accepted = webSocket;
    });
    return accepted;
  }
}
