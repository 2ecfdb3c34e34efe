import type { ClientRequest, IncomingMessage } from 'node:http';
import type { GatewayContext } from '../context.ts';
import { breakOff, hasBody, isHttp2, type VisitorRequest, type VisitorResponse } from '../messages.ts';
import { letIn, type Visit } from './let-in.ts';
import { relay } from './relay.ts';
import { Refused, sendRefusal } from './send-refusal.ts';
import { type Prepared, prepare, sendUpstream } from './upstream.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Called for each visit once it is let in. */
export type OnVisit = (request: VisitorRequest, visit: Visit) => void;

/** Carries one request to the server in its sandbox and the answer back, both as they come. */
export async function forwardRequest(
  gateway: GatewayContext,
  request: VisitorRequest,
  response: VisitorResponse,
  onVisit: OnVisit,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  // A visitor who leaves in the middle is no error of ours.
  for (const side of [request, response]) side.on('error', () => {});
  if (isHttp2(request)) request.stream.setTimeout(gateway.limits.idleMs, () => breakOff(response));
  const { metrics, log } = gateway.core;
  try {
    const visit = await letIn(gateway, request, () => breakOff(response));
    response.once('close', visit.leave);
    if (gone.signal.aborted) return visit.leave();
    onVisit(request, visit);
    const prepared = await prepare(gateway, request, visit);
    const answer = await exchange(gateway, request, prepared, gone.signal);
    log.debug(
      { sandbox_id: visit.target.sandboxId, port: visit.target.port, status: answer.statusCode },
      'preview_answered',
    );
    relay(answer, response, prepared);
    metrics.previewAnswered('served');
  } catch (error) {
    if (!gone.signal.aborted) metrics.previewAnswered(sendRefusal(request, response, error));
  }
}

/** The head of the answer. A request that met a connection that was just closing is sent once more, if nothing was lost with it. */
async function exchange(
  gateway: GatewayContext,
  request: VisitorRequest,
  prepared: Prepared,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const repeatable = safeMethods.has(request.method ?? '') && !hasBody(request);
  const first = sendUpstream(gateway, request, prepared, signal, repeatable);
  try {
    return await answerTo(first, request);
  } catch (error) {
    if (!repeatable || !first.reusedSocket || signal.aborted) throw error;
    return answerTo(sendUpstream(gateway, request, prepared, signal, false), request);
  }
}

/** Sends the body and waits for the head of the answer. */
function answerTo(upstream: ClientRequest, request: VisitorRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  upstream.once('response', resolve);
  upstream.on('error', reject);
  upstream.once('upgrade', (_answer, tunnel) => {
    tunnel.destroy();
    reject(new Refused('unreachable', 'The server in the sandbox changed the protocol without being asked.'));
  });
  if (hasBody(request)) {
    // The server may want to answer before the first byte of the body comes.
    upstream.flushHeaders();
    request.pipe(upstream);
    request.once('error', () => upstream.destroy());
  } else upstream.end();
  return promise;
}
