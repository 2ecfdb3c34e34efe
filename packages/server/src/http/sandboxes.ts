import {
  createSandboxBody,
  createSandboxHeaders,
  deletedSandboxSchema,
  idParameters,
  listSandboxesQuery,
  sandboxListSchema,
  sandboxSchema,
} from '@mayfly/contract';
import { createSandbox } from '../core/sandboxes/create.ts';
import { deleteSandbox } from '../core/sandboxes/delete.ts';
import { getSandbox } from '../core/sandboxes/get.ts';
import { listSandboxes } from '../core/sandboxes/list.ts';
import { accountOf } from './authentication.ts';
import type { HttpApp, HttpDeps } from './http-app.ts';
import { deletedSandboxView, sandboxListView, sandboxView } from './views/sandbox-view.ts';

/** /sandboxes: create, list, get, delete. */
export function sandboxRoutes(app: HttpApp, { core, publicUrl }: HttpDeps): void {
  app.route({
    method: 'POST',
    url: '/sandboxes',
    schema: {
      headers: createSandboxHeaders,
      body: createSandboxBody,
      response: { 200: sandboxSchema, 201: sandboxSchema },
    },
    handler: async (request, reply) => {
      const key = request.headers['idempotency-key'] ?? null;
      const { sandbox, created } = await createSandbox(core, accountOf(request), request.body, key);
      request.logged.sandbox_id = sandbox.id;
      if (created) reply.header('location', `${publicUrl()}/v1/sandboxes/${sandbox.id}`);
      return reply.code(created ? 201 : 200).send(sandboxView(sandbox));
    },
  });

  app.route({
    method: 'GET',
    url: '/sandboxes',
    schema: { querystring: listSandboxesQuery, response: { 200: sandboxListSchema } },
    handler: async (request) => sandboxListView(await listSandboxes(core, accountOf(request), request.query)),
  });

  app.route({
    method: 'GET',
    url: '/sandboxes/:id',
    schema: { params: idParameters, response: { 200: sandboxSchema } },
    handler: async (request) => {
      request.logged.sandbox_id = request.params.id;
      return sandboxView(await getSandbox(core, accountOf(request), request.params.id));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/sandboxes/:id',
    schema: { params: idParameters, response: { 200: deletedSandboxSchema, 202: sandboxSchema } },
    handler: async (request, reply) => {
      request.logged.sandbox_id = request.params.id;
      const sandbox = await deleteSandbox(core, accountOf(request), request.params.id);
      if (sandbox.status === 'deleted') return reply.code(200).send(deletedSandboxView(sandbox));
      return reply.code(202).send(sandboxView(sandbox));
    },
  });
}
