import { notFound } from '../core/errors/api-error.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';

/** GET /preview-root.crt: the root to trust for previews, if this service has one. Needs no key. */
export function previewRootRoute(app: HttpApp, { previewRoot }: HttpDeps): void {
  app.route({
    method: 'GET',
    url: '/preview-root.crt',
    handler: async (_request, reply) => {
      const pem = previewRoot();
      if (pem === undefined) throw notFound("root certificate (previews use the operator's own)");
      return reply.type('application/x-pem-file').send(pem);
    },
  });
}
