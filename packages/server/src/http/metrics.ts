import { BlockList, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { notFound } from '../core/errors/api-error.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** GET /metrics: what has been counted. Needs no key; who is not on this host hears that there is nothing, unless it is public. */
export function metricsRoute(app: HttpApp, { metricsPage, metricsPublic }: HttpDeps): void {
  app.route({
    method: 'GET',
    url: '/metrics',
    handler: async (request, reply) => {
      if (!metricsPublic && !isLocal(request)) throw notFound('path');
      return reply.type(metricsPage.contentType).send(await metricsPage.text());
    },
  });
}

/** Whether the other end is a program on this host that asks for itself: a proxy asks for others. */
function isLocal({ socket, headers }: FastifyRequest): boolean {
  const address = socket.remoteAddress ?? '';
  if (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined) return false;
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 6 ? 'ipv6' : 'ipv4');
}
