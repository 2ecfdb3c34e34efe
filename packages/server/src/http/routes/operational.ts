import { hash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors/api-error.ts';
import { pathNotFound } from '../access.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';

/** The routes outside /v1 for operators and monitoring. None of them needs a key. */
export function operationalRoutes(app: HttpApp, deps: HttpDeps): void {
  healthRoute(app, deps);
  metricsRoute(app, deps);
  previewRootRoute(app, deps);
}

/** GET /healthz: 200 while a create would be served. */
function healthRoute(app: HttpApp, deps: HttpDeps): void {
  app.route({
    method: 'GET',
    url: '/healthz',
    handler: async (_request, reply) => {
      const readiness = deps.readiness();
      const ready = readiness === 'ready';
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'ok' : readiness });
    },
  });
}

/**
 * GET /metrics: for everyone if the metrics are public, else for clients that send the token and for those on this host; 404 for all others. Behind a proxy,
 * strangers' requests also come from this host, and not every proxy adds a header that tells, so only the token counts.
 */
function metricsRoute(app: HttpApp, { metricsPage, metricsPublic, metricsToken, trustProxy }: HttpDeps): void {
  const hasToken = tokenCheck(metricsToken);
  const mayRead = (request: FastifyRequest): boolean =>
    metricsPublic || hasToken(request) || (trustProxy === false && isLocal(request));
  app.route({
    method: 'GET',
    url: '/metrics',
    handler: async (request, reply) => {
      if (!mayRead(request)) throw pathNotFound();
      return reply.type(metricsPage.contentType).send(await metricsPage.text());
    },
  });
}

/** Returns whether a request carries the token. Hashes have equal lengths, and comparing them takes as long whichever byte differs. */
function tokenCheck(token: string | undefined): (request: FastifyRequest) => boolean {
  if (token === undefined) return () => false;
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const expected = digest(token);
  return ({ headers }) => {
    const [, sent] = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
    return sent !== undefined && timingSafeEqual(digest(sent), expected);
  };
}

/** GET /preview-root.crt: the root certificate that preview visitors must trust. */
function previewRootRoute(app: HttpApp, { previewRoot }: HttpDeps): void {
  app.route({
    method: 'GET',
    url: '/preview-root.crt',
    handler: async (_request, reply) => {
      const pem = previewRoot();
      if (pem === undefined) throw new ApiError('not_found', noPreviewRoot);
      return reply.type('application/x-pem-file').send(pem);
    },
  });
}

const noPreviewRoot =
  'This service has no root certificate of its own: previews use the certificate that the operator configured.';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Whether the client runs on this host and asks for itself, by a local name. A proxy on this host asks on behalf of others, and so does a browser whose
 * page made its own name resolve to this host.
 */
function isLocal({ socket, headers }: FastifyRequest): boolean {
  if (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined) return false;
  return isLoopback(socket.remoteAddress ?? '') && isLocalHost(headers.host ?? '');
}

function isLocalHost(host: string): boolean {
  const [, bracketed, plain = ''] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?$/.exec(host) ?? [];
  return /^localhost\.?$/i.test(plain) || isLoopback(bracketed ?? plain);
}

function isLoopback(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 6 ? 'ipv6' : 'ipv4');
}
