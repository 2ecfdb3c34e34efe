import { type PreviewVisit, startVisit } from '../../core/previews/visits.ts';
import type { GatewayContext } from '../gateway-context.ts';
import { tokenOf } from '../preview-host.ts';
import { requestedHost, tlsServerName, type VisitorRequest } from './http-versions.ts';
import { Refused } from './refusal.ts';

/** A request that may be forwarded to its sandbox. */
export interface Visit extends PreviewVisit {
  readonly token: string;
  /** Host and port as the visitor sent them. */
  readonly publicHost: string;
  /** Whether the TLS connection was opened for this preview, so that it serves no other one. */
  readonly ownConnection: boolean;
}

/** Checks a request and admits it to its preview. `disconnect` is called when the preview ends. Rejects with Refused or PreviewError. */
export async function admitVisitor(
  gateway: GatewayContext,
  request: VisitorRequest,
  disconnect: () => void,
): Promise<Visit> {
  const { core, domain } = gateway;
  const publicHost = requestedHost(request);
  if (publicHost === undefined) throw new Refused('bad_request', 'The request must name exactly one host.');
  const token = tokenOf(publicHost, domain);
  const tlsToken = tokenOf(tlsServerName(request), domain);
  // Browsers reuse a connection for another host with the same certificate. Closing one preview would then disconnect the other.
  if (tlsToken !== undefined && tlsToken !== token) {
    throw new Refused('misdirected', 'This connection was opened for another preview. Open a new one.');
  }
  checkSyntax(request);
  const visit = await startVisit(core, token ?? '', disconnect);
  return { ...visit, token: token ?? '', publicHost, ownConnection: tlsToken !== undefined };
}

/** Refuses requests that different servers interpret in different ways. */
function checkSyntax(request: VisitorRequest): void {
  const encoding = request.headers['transfer-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'chunked') {
    throw new Refused('not_supported', 'The only supported transfer coding is chunked.');
  }
  const { method, url } = request;
  if (
    url === undefined ||
    !(url.startsWith('/') || (url === '*' && method === 'OPTIONS')) ||
    /[^\u0021-\u00ff]/.test(url)
  ) {
    throw new Refused('bad_request', 'The path of the request is not valid.');
  }
}
