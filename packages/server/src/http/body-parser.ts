import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseJson } from './bodies/parse-json.ts';
import { readBody } from './bodies/read-body.ts';
import type { HttpApp } from './http-app.ts';

/** Reads every body as JSON, whatever its Content-Type says. Nothing but white space is no body. */
export function addBodyParser(app: HttpApp, maxBytes: number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) =>
    parseJson(await readBody(payload, request.headers, maxBytes)),
  );
}

/** The framework refuses a Content-Type that it cannot read; here it means nothing. */
export function forgetContentType({ headers }: IncomingMessage): void {
  if (headers['content-type'] !== undefined) delete headers['content-type'];
}

/** The framework closes the connection after a body that was refused; its sender could lose the answer with it. */
export function keepConnectionAfterRefusal(reply: FastifyReply): void {
  if (reply.statusCode === 413 || reply.statusCode === 400) reply.removeHeader('connection');
}
