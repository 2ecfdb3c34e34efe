import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { holdsApiKey } from '../../core/accounts/authenticate.ts';
import { forwardingChain } from '../../core/windows/source-address.ts';
import type { GatewayContext } from '../gateway-context.ts';
import { headersForGuest } from '../headers/for-guest.ts';
import { headersForVisitor, type OutboundHeaders } from '../headers/for-visitor.ts';
import { hostOf, tokenOf } from '../preview-host.ts';
import type { Visit } from './admit-visitor.ts';
import { abortResponse, hasBody, sendHead, type VisitorRequest, type VisitorResponse } from './http-versions.ts';
import { openTunnel, type TunnelRequestArgs } from './tunnel-agent.ts';

/** A visit and the headers that its server receives. */
export interface PreparedVisit {
  readonly visit: Visit;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly origin: OutboundHeaders['origin'];
}

/** Computes the headers that the server in the sandbox receives. */
export async function prepare(gateway: GatewayContext, request: VisitorRequest, visit: Visit): Promise<PreparedVisit> {
  const { domain } = gateway;
  const [foreignOrigin, keyFound] = await Promise.all([
    foreignOriginOf(gateway, request.headers.origin, visit),
    sendsApiKey(gateway, request),
  ]);
  const headers = headersForGuest({
    rawHeaders: request.rawHeaders,
    token: visit.token,
    domain,
    port: visit.target.port,
    forwardedFor: forwardingChainOf(gateway, request).toReversed().join(', '),
    foreignOrigin,
    holdsApiKey: keyFound,
  });
  // Node sends the body of a GET or DELETE only with this header or a length.
  if (hasBody(request) && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
  const { origin: sent } = request.headers;
  const seen = headers.origin;
  return { visit, headers, origin: typeof seen === 'string' && sent !== undefined ? { sent, seen } : undefined };
}

/** Sends a request without its body to the server in the sandbox. A reused connection may be one that the server is just closing. */
export function sendUpstream(
  gateway: GatewayContext,
  request: VisitorRequest,
  { visit, headers }: PreparedVisit,
  signal: AbortSignal,
  { reuseConnection }: { readonly reuseConnection: boolean },
): ClientRequest {
  const options: TunnelRequestArgs = {
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers,
    setHost: false,
    maxHeaderSize: gateway.limits.headerBytes,
    target: visit.target,
    signal,
    visitorSignal: signal,
  };
  if (reuseConnection) return httpRequest({ ...options, agent: gateway.agent } as TunnelRequestArgs);
  const createConnection: TunnelRequestArgs['createConnection'] = (args, connected) => {
    openTunnel(gateway.connect, args as TunnelRequestArgs, connected);
    return undefined;
  };
  return httpRequest({ ...options, createConnection });
}

/** The host of a preview is its secret, and links to other sites would tell it to them. A server may have a policy of its own. */
const keptFromOthers = { 'referrer-policy': 'same-origin' };

/** Streams an answer to the visitor with backpressure. An answer that is cut short is cut short for the visitor, too. */
export function relay(answer: IncomingMessage, response: VisitorResponse, { visit, origin }: PreparedVisit): void {
  const { publicHost, target } = visit;
  const headers = headersForVisitor({ rawHeaders: answer.rawHeaders, publicHost, port: target.port, origin });
  answer.once('close', () => {
    if (!answer.complete) abortResponse(response);
  });
  answer.once('error', () => abortResponse(response));
  response.once('close', () => answer.destroy());
  try {
    sendHead(response, answer.statusCode ?? 502, { ...keptFromOthers, ...headers });
  } catch (error) {
    answer.destroy();
    throw error;
  }
  answer.pipe(response as NodeJS.WritableStream);
}

/** How an Origin that is another preview appears to the server: as localhost if it is of the same sandbox, otherwise as `null`. */
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

/**
 * Whether a visitor sends an API key by mistake. A request has one Authorization header. Of several, Node keeps only the first, but all would be forwarded and would
 * have to be looked at, so none of them reaches the sandbox.
 */
async function sendsApiKey({ core }: GatewayContext, { headers, rawHeaders }: VisitorRequest): Promise<boolean> {
  if (headers.authorization === undefined) return false;
  const count = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization').length;
  return count > 1 || (await holdsApiKey(core, headers.authorization));
}

/** The addresses that a request came through, nearest first; the last one is the visitor's. What the visitor wrote about itself is dropped. */
export function forwardingChainOf(
  { trustsProxy }: GatewayContext,
  { socket, headers }: VisitorRequest,
): readonly string[] {
  return forwardingChain(socket.remoteAddress ?? '', headers['x-forwarded-for'], trustsProxy);
}
