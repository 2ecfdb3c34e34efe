import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { deleteFile } from '../core/files/delete.ts';
import { readPath } from '../core/files/read.ts';
import { writeFile } from '../core/files/write.ts';
import { accountOf } from './authentication.ts';
import { refuseUndecodableQuery } from './bodies/decodable-query.ts';
import { fileJson } from './bodies/file-json.ts';
import { readBody } from './bodies/read-body.ts';
import { parseWriteFileBody } from './bodies/write-file-body.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';
import { routeOf } from './route.ts';
import { deletedFileView, directoryView, writtenFileView } from './views/file-view.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What a write brings, decoded; its body has a stand-in for it. */
    fileContent: Buffer | undefined;
  }
}

/** /sandboxes/{id}/files: files and directories in a sandbox. */
export function fileRoutes(v1: HttpApp, deps: HttpDeps): void {
  v1.register(async (app: HttpApp) => {
    app.addHook('preValidation', refuseUndecodableQuery);
    addContentParser(app, deps.core.limits.fileBodyBytes);
    addFileRoutes(app, deps);
  });
}

/** Reads bodies with a file in them, which no other route takes. */
function addContentParser(app: HttpApp, maxBytes: number): void {
  app.decorateRequest('fileContent');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { body, content } = parseWriteFileBody(await readBody(payload, request.headers, maxBytes));
    request.fileContent = content;
    return body;
  });
}

function addFileRoutes(app: HttpApp, { core, operations }: HttpDeps): void {
  app.route({
    ...routeOf(operations.writeFile),
    handler: async (request, reply) => {
      const { id } = request.params;
      request.logged.sandbox_id = id;
      const content = request.fileContent;
      if (content === undefined) throw new Error('a write without content was not refused');
      const file = await writeFile(core, accountOf(request), id, { path: request.body.path, content });
      return reply.code(201).send(writtenFileView(file));
    },
  });

  app.route({
    ...routeOf(operations.readFile),
    handler: async (request, reply) => {
      request.logged.sandbox_id = request.params.id;
      const found = await readPath(core, accountOf(request), request.params.id, request.query);
      if (found.kind === 'directory') return directoryView(found);
      const written: FastifyReply = reply;
      return written.type('application/json; charset=utf-8').send(fileJson(found));
    },
  });

  app.route({
    ...routeOf(operations.deleteFile),
    handler: async (request) => {
      request.logged.sandbox_id = request.params.id;
      return deletedFileView(await deleteFile(core, accountOf(request), request.params.id, request.query));
    },
  });
}
