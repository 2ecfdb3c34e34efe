import type { ClientRequest, IncomingMessage } from 'node:http';
import type { GatewayContext } from '../gateway-context.ts';
import { admitVisitor, type Visit } from './admit-visitor.ts';
import { abortResponse, hasBody, isHttp2, type VisitorRequest, type VisitorResponse } from './http-versions.ts';
import { Refused, sendRefusal } from './refusal.ts';
import { forwardingChainOf, type PreparedVisit, prepare, relay, sendUpstream } from './upstream.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Called for each visit once it is admitted. */
export type OnVisit = (request: VisitorRequest, visit: Visit) => void;

/** Forwards a request to the server in its sandbox and streams the response back. */
export async function forwardRequest(
  gateway: GatewayContext,
  request: VisitorRequest,
  response: VisitorResponse,
  onVisit: OnVisit,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  // A visitor may disconnect at any time; that is not an error of the service.
  for (const side of [request, response]) side.on('error', () => {});
  if (isHttp2(request)) request.stream.setTimeout(gateway.limits.idleMs, () => abortResponse(response));
  const { metrics, log } = gateway.core;
  const source = forwardingChainOf(gateway, request).at(-1) ?? '';
  try {
    gateway.refused.check(source);
    const visit = await admitVisitor(gateway, request, () => abortResponse(response));
    response.once('close', visit.end);
    if (gone.signal.aborted) return visit.end();
    onVisit(request, visit);
    const prepared = await prepare(gateway, request, visit);
    const answer = await fetchAnswer(gateway, request, prepared, gone.signal);
    const { sandboxId, port } = visit.target;
    log.debug({ sandbox_id: sandboxId, port, status: answer.statusCode }, 'preview_answered');
    relay(answer, response, prepared);
    metrics.previewAnswered('served');
  } catch (error) {
    if (!gone.signal.aborted) gateway.refused.note(source, sendRefusal(request, response, error));
  }
}

/** Waits for status and headers. A safe request that failed on a reused connection, which the server may have just closed, is retried once. */
async function fetchAnswer(
  gateway: GatewayContext,
  request: VisitorRequest,
  prepared: PreparedVisit,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const retryable = safeMethods.has(request.method ?? '') && !hasBody(request);
  const first = sendUpstream(gateway, request, prepared, signal, { reuseConnection: retryable });
  try {
    return await answerTo(first, request);
  } catch (error) {
    if (!retryable || !first.reusedSocket || signal.aborted) throw error;
    return answerTo(sendUpstream(gateway, request, prepared, signal, { reuseConnection: false }), request);
  }
}

/** Sends the body and waits for status and headers of the answer. */
function answerTo(upstream: ClientRequest, request: VisitorRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  upstream.once('response', resolve);
  upstream.on('error', reject);
  upstream.once('upgrade', (_answer, tunnel) => {
    tunnel.destroy();
    reject(new Refused('unreachable', 'The server in the sandbox switched protocols without being asked to.'));
  });
  if (hasBody(request)) {
    // The server may answer before the first byte of the body arrives.
    upstream.flushHeaders();
    request.pipe(upstream);
    request.once('error', () => upstream.destroy());
  } else upstream.end();
  return promise;
}
