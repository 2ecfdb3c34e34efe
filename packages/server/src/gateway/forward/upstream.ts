import { type ClientRequest, request as httpRequest } from 'node:http';
import type { GatewayContext } from '../context.ts';
import { headersForGuest, hostOf } from '../headers/for-guest.ts';
import type { Departure } from '../headers/for-visitor.ts';
import { tokenOf } from '../host.ts';
import { hasBody, type VisitorRequest } from '../messages.ts';
import type { Visit } from './let-in.ts';
import { openTunnel, type TunnelRequestArgs } from './tunnel-agent.ts';

/** A visit with what its server is going to see. */
export interface Prepared {
  readonly visit: Visit;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly origin: Departure['origin'];
}

/** Decides what the server in the sandbox sees of a request. */
export async function prepare(gateway: GatewayContext, request: VisitorRequest, visit: Visit): Promise<Prepared> {
  const { domain } = gateway;
  const foreignOrigin = await foreignOriginOf(gateway, request.headers.origin, visit);
  const headers = headersForGuest({
    rawHeaders: request.rawHeaders,
    token: visit.token,
    domain,
    port: visit.target.port,
    forwardedFor: forwardedFor(gateway, request),
    foreignOrigin,
  });
  // Node frames the body of a GET or DELETE only if it is told to.
  if (hasBody(request) && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
  const { origin: sent } = request.headers;
  const seen = headers.origin;
  return { visit, headers, origin: typeof seen === 'string' && sent !== undefined ? { sent, seen } : undefined };
}

/** Sends a request's head to the server in the sandbox. The caller pipes the body. `pooled` may meet a connection that is just closing. */
export function sendUpstream(
  gateway: GatewayContext,
  request: VisitorRequest,
  { visit, headers }: Prepared,
  signal: AbortSignal,
  pooled: boolean,
): ClientRequest {
  const options: TunnelRequestArgs = {
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers,
    setHost: false,
    maxHeaderSize: gateway.limits.headerBytes,
    target: visit.target,
    signal,
    givenUp: signal,
  };
  if (pooled) return httpRequest({ ...options, agent: gateway.agent } as TunnelRequestArgs);
  const createConnection: TunnelRequestArgs['createConnection'] = (given, connected) => {
    openTunnel(gateway.connect, given as TunnelRequestArgs, connected);
    return undefined;
  };
  return httpRequest({ ...options, createConnection });
}

/** How the server sees an Origin that is another preview: the same sandbox's by its port, anybody else's not at all. */
async function foreignOriginOf(
  gateway: GatewayContext,
  origin: string | undefined,
  visit: Visit,
): Promise<string | undefined> {
  const token = origin === undefined ? undefined : tokenOf(hostOf(origin), gateway.domain);
  if (token === undefined || token === visit.token) return undefined;
  const other = await gateway.core.store.previews.findByToken(token);
  return other?.sandboxId === visit.target.sandboxId ? `http://localhost:${other.port}` : 'null';
}

function forwardedFor({ isTrustedProxy }: GatewayContext, request: VisitorRequest): string {
  const peer = (request.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
  const told = request.headers['x-forwarded-for'];
  return typeof told === 'string' && isTrustedProxy(peer) ? `${told}, ${peer}` : peer;
}
