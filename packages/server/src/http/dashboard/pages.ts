import { dashboardPages } from '@mayfly/contract/dashboard';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathNotFound } from '../access.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { chooseCoding, type PageFile } from './page-files.ts';

/**
 * Nothing inline, nothing from elsewhere, and no page may show this one in a frame. Only previews are shown in frames: `previewSource` stands for
 * all of them, because their names are not known when the page is sent.
 */
function contentSecurityPolicy(previewSource: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `frame-src ${previewSource}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');
}

const fixedHeaders = {
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const;

const notBuilt =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Mayfly</title><p>The dashboard is not built. Run npm start.</p></html>\n';

/** The dashboard's page at each of its paths, and the files that it loads. None of them needs a session: everything secret comes from /app/api. */
export function pageRoutes(app: HttpApp, { pages: files, previewUrl }: Pick<HttpDeps, 'pages' | 'previewUrl'>): void {
  const pageHeaders = { ...fixedHeaders, 'content-security-policy': contentSecurityPolicy(originOf(previewUrl('*'))) };
  for (const url of dashboardPages) {
    app.route({
      method: 'GET',
      url,
      handler: async (request, reply) => {
        reply.headers(pageHeaders);
        if (files === undefined) {
          return await reply
            .code(503)
            .header('cache-control', 'no-store')
            .type('text/html; charset=utf-8')
            .send(notBuilt);
        }
        return await sendFile(request, reply.header('cache-control', 'no-cache'), files.index);
      },
    });
  }

  app.route<{ Params: { readonly '*': string } }>({
    method: 'GET',
    url: '/assets/*',
    handler: async (request, reply) => {
      const file = files?.assets.get(`assets/${request.params['*']}`);
      if (file === undefined) throw pathNotFound();
      // Their names change with their content.
      return await sendFile(
        request,
        reply.headers(pageHeaders).header('cache-control', 'public, max-age=31536000, immutable'),
        file,
      );
    },
  });
}

/** A URL without its path. */
function originOf(url: string): string {
  return url.replace(/\/$/, '');
}

function sendFile({ headers }: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  reply.header('vary', 'Accept-Encoding').header('etag', file.etag);
  if (headers['if-none-match'] === file.etag) return reply.code(304).send();
  const coding = chooseCoding(file, headers['accept-encoding']);
  if (coding !== 'identity') reply.header('content-encoding', coding);
  return reply.type(file.contentType).send(file.bodies[coding] ?? file.bodies.identity);
}
