import type { Limits } from '@mayfly/contract';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { contentSecurityPolicy, type Reference, renderReference } from '../reference/page.ts';

/** What the reference shows of the service. */
export interface ReferenceNeeds {
  readonly limits: Limits;
}

/** GET /openapi.json and /docs: the API reference, for programs and for people. Neither needs a key. */
export function referenceRoutes(app: HttpApp, { core, publicUrl, previewUrl }: HttpDeps<ReferenceNeeds>): void {
  // Rendered on first use, because the public URL is known only once the service listens.
  let rendered: { readonly url: string; readonly reference: Reference } | undefined;
  function reference(): Reference {
    const url = publicUrl();
    if (rendered?.url !== url) rendered = { url, reference: renderReference(core.limits, url, previewUrl('TOKEN')) };
    return rendered.reference;
  }

  app.route({
    method: 'GET',
    url: '/openapi.json',
    handler: async (_request, reply) =>
      reply
        .header('access-control-allow-origin', '*')
        .header('x-content-type-options', 'nosniff')
        .type('application/json; charset=utf-8')
        .send(reference().json),
  });

  app.route({
    method: 'GET',
    url: '/docs',
    handler: async (_request, reply) =>
      reply
        .header('content-security-policy', contentSecurityPolicy)
        .header('x-content-type-options', 'nosniff')
        .header('referrer-policy', 'no-referrer')
        .type('text/html; charset=utf-8')
        .send(reference().page),
  });
}
