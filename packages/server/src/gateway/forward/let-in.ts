import { type Entered, enterPreview } from '../../core/previews/enter.ts';
import type { GatewayContext } from '../context.ts';
import { tokenOf } from '../host.ts';
import { hostNamed, nameInHello, type VisitorRequest } from '../messages.ts';
import { Refused } from './send-refusal.ts';

/** A request that may go on to its sandbox. */
export interface Visit extends Entered {
  readonly token: string;
  /** Host and port as the visitor named them. */
  readonly publicHost: string;
  /** Whether the whole connection is for this preview. */
  readonly ownConnection: boolean;
}

/** Looks at whom a request is for and lets it in; `cut` is called once its preview ends. Fails with Refused or PreviewFailure. */
export async function letIn(gateway: GatewayContext, request: VisitorRequest, cut: () => void): Promise<Visit> {
  const { core, domain } = gateway;
  const publicHost = hostNamed(request);
  if (publicHost === undefined) throw new Refused('bad_request', 'The request names no host, or more than one.');
  const token = tokenOf(publicHost, domain);
  const helloToken = tokenOf(nameInHello(request), domain);
  // A browser may take one connection for two previews whose certificate is the same; closing one would cut the other.
  if (helloToken !== undefined && helloToken !== token) {
    throw new Refused('misdirected', 'This connection was opened for another preview.');
  }
  checkForm(request);
  const entered = await enterPreview(core, token ?? '', cut);
  return { ...entered, token: token ?? '', publicHost, ownConnection: helloToken !== undefined };
}

/** Refuses what servers are known to read in different ways. */
function checkForm(request: VisitorRequest): void {
  const encoding = request.headers['transfer-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'chunked') {
    throw new Refused('not_supported', 'The only transfer coding that is understood is chunked.');
  }
  const { method, url } = request;
  if (
    url === undefined ||
    !(url.startsWith('/') || (url === '*' && method === 'OPTIONS')) ||
    /[^\u0021-\u00ff]/.test(url)
  ) {
    throw new Refused('bad_request', 'The path of the request cannot be used.');
  }
}
