import { authenticate } from '../core/accounts/authenticate.ts';
import type { Core } from '../core/context.ts';
import { notFound } from '../core/errors/api-error.ts';
import { allowAnyOrigin, answerPreflight, isPreflight } from './cross-origin.ts';
import { requireHost } from './host-header.ts';
import type { HttpApp } from './http-app.ts';
import { keyHashes } from './key-hash.ts';
import { countAccount, countSource } from './rate-limits.ts';

/**
 * What every request passes from here on, in this order: the window of its source, whatever it asks; a preflight needs no key, all else
 * does and counts for its account; only then is an unknown path told from a known one.
 */
export function addGate(app: HttpApp, core: Core): void {
  const keyHashOf = keyHashes();
  const createRoute = `${app.prefix}/sandboxes`;
  app.addHook('onRequest', async (request, reply) => {
    countSource(core, request);
    allowAnyOrigin(request, reply);
    if (isPreflight(request)) return answerPreflight(reply);
    requireHost(request.raw);
    const account = await authenticate(core, keyHashOf(request));
    request.account = account;
    const isCreate = request.method === 'POST' && request.routeOptions.url === createRoute;
    countAccount(core, account, request, isCreate);
    if (request.is404) throw notFound('path');
    return undefined;
  });
}
