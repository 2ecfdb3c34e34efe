import { type AdminErrorBody, type AdminErrorType, adminErrorTable } from '@mayfly/contract/admin';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import { AccountError } from '../core/accounts/find-account.ts';
import { type AdminNeeds, addAdminRoutes, type ServiceUrls } from './admin-routes.ts';

/** Connections beyond this number are closed immediately. */
const maxConnections = 32;

/** The admin API. It does not authenticate: a process that can open its socket may do everything. Does not listen. */
export function buildAdmin(core: AdminNeeds, log: FastifyBaseLogger, urls: ServiceUrls): FastifyInstance {
  const app: FastifyInstance = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: 16_384,
    requestTimeout: 10_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 5_000,
    http: { headersTimeout: 10_000, maxHeaderSize: 16_384 },
    routerOptions: { maxParamLength: 1_024 },
    frameworkErrors: (error, request, reply) => void sendAdminError(error, request, reply),
  });
  app.server.maxConnections = maxConnections;
  app.setErrorHandler(sendAdminError);
  app.setNotFoundHandler(({ method, url }) => {
    const advice = 'Use the mayfly command of the same version as the service.';
    throw new AccountError('not_found', `This service does not support ${method} ${url}. ${advice}`);
  });
  addAdminRoutes(app, core, urls);
  return app;
}

function sendAdminError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const described = describeError(error);
  if (described.type === 'internal_error') request.log.error({ err: error }, 'admin_request_failed');
  const body: AdminErrorBody = { error: described };
  return reply.code(adminErrorTable[described.type]).send(body);
}

function describeError(error: unknown): { readonly type: AdminErrorType; readonly message: string } {
  if (error instanceof AccountError) return { type: error.type, message: error.message };
  if (isClientError(error)) return { type: 'invalid_request', message: error.message };
  return { type: 'internal_error', message: "The service failed. See the service's log for the reason." };
}

function isClientError(error: unknown): error is Error {
  if (!(error instanceof Error) || !('statusCode' in error)) return false;
  return Number(error.statusCode) >= 400 && Number(error.statusCode) < 500;
}
