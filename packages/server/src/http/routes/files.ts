import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { HeldResult } from '../../core/budgets/held-result.ts';
import type { SharedBudget } from '../../core/budgets/shared-budget.ts';
import { ApiError } from '../../core/errors/api-error.ts';
import { deleteFile, type FileNeeds, readPath, writeFile } from '../../core/files/sandbox-files.ts';
import { accountOf } from '../access.ts';
import { directoryJson } from '../bodies/directory-json.ts';
import { fileJson } from '../bodies/file-json.ts';
import { type ReadBodyNeeds, readJsonBody } from '../bodies/json-body.ts';
import { releaseOnFailure, sendJson } from '../bodies/json-pieces.ts';
import { takeContent } from '../bodies/write-file-body.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp, HttpDeps } from '../http-app.ts';
import { deletedFileView, writtenFileView } from '../views.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The decoded content of a write; the body only has a placeholder for it. */
    fileContent: Buffer | undefined;
  }
}

export type FileRouteNeeds = FileNeeds & ReadBodyNeeds & { readonly budgets: { readonly resultBytes: SharedBudget } };

/** /sandboxes/{id}/files: files and directories in a sandbox. */
export function fileRoutes(v1: HttpApp, deps: HttpDeps<FileRouteNeeds>): void {
  v1.register(async (app: HttpApp) => {
    app.addHook('preValidation', refuseUndecodableQuery);
    addFileBodyParser(app, deps.core);
    addFileRoutes(app, deps);
  });
}

/** These routes accept larger bodies than all others, and decode the file content before validation. */
function addFileBodyParser(app: HttpApp, core: FileRouteNeeds): void {
  app.decorateRequest('fileContent');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { body, content } = takeContent(await readJsonBody(core, request, payload, core.limits.fileBodyBytes));
    request.fileContent = content;
    return body;
  });
}

/** Refuses a query string that is not UTF-8 once decoded. Fastify would take `%ff` for the name of a file. */
async function refuseUndecodableQuery({ url }: FastifyRequest): Promise<void> {
  const start = url.indexOf('?');
  if (start === -1) return;
  try {
    decodeURIComponent(url.slice(start));
  } catch (cause) {
    throw new ApiError('request_error', 'The query string cannot be decoded. Percent-encode it as UTF-8.', { cause });
  }
}

function addFileRoutes(app: HttpApp, { core, operations }: HttpDeps<FileRouteNeeds>): void {
  app.route({
    ...routeOf(operations.writeFile),
    handler: async (request, reply) => {
      const { id } = request.params;
      request.logged.sandbox_id = id;
      const content = request.fileContent;
      if (content === undefined) throw new Error('validation let a write without content pass');
      const file = await writeFile(core, accountOf(request), id, { path: request.body.path, content });
      return reply.code(201).send(writtenFileView(file));
    },
  });

  app.route({
    ...routeOf(operations.readFile),
    handler: async (request, reply) => {
      request.logged.sandbox_id = request.params.id;
      const account = accountOf(request);
      const held = new HeldResult(core.budgets.resultBytes, account.id);
      const found = await releaseOnFailure(held, readPath(core, account, request.params.id, request.query, held));
      return sendJson(reply, found.kind === 'directory' ? directoryJson(found) : fileJson(found), held);
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
