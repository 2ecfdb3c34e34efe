import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import type { AccountsContext } from '../core/accounts/accounts-context.ts';
import { AccountRefusal } from '../core/accounts/refusal.ts';
import { accountRoutes } from './accounts.ts';
import { sendAdminError } from './errors.ts';
import { keyRoutes } from './keys.ts';
import { limitRoutes } from './limits.ts';

/** How many connections are open at once at most; one more is closed at once. */
const maxConnections = 32;

/** The administrative interface. It authenticates nobody: whoever reaches it may do everything. Listens to nothing by itself. */
export function buildAdmin(core: AccountsContext, log: FastifyBaseLogger): FastifyInstance {
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
  app.setNotFoundHandler((request) => {
    throw new AccountRefusal(
      'not_found',
      `this service has no ${request.method} ${request.url}; is it of another version?`,
    );
  });
  accountRoutes(app, core);
  limitRoutes(app, core);
  keyRoutes(app, core);
  return app;
}
