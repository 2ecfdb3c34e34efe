import { adminSocketName } from '@mayfly/contract/admin/socket.ts';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { AccountsContext } from '../core/accounts/accounts-context.ts';
import { buildAdmin } from './build-admin.ts';
import { preparePrivateSocket } from './private-socket.ts';

/** How long requests in flight may take to finish when the service stops. */
const drainMs = 2_000;

export interface AdminOptions {
  readonly core: AccountsContext;
  /** Held by this service alone. */
  readonly dataDir: string;
  readonly log: FastifyBaseLogger;
}

/** Serves the administrative interface on a socket in the data folder that only the service's own user (root) can open. */
export async function startAdmin({ core, dataDir, log }: AdminOptions): Promise<AsyncDisposable> {
  const app = buildAdmin(core, log);
  const socket = preparePrivateSocket(dataDir, adminSocketName);
  const stop = async () => {
    await closeWithin(app, drainMs);
    socket.remove();
  };
  try {
    await app.listen({ path: socket.bindPath, listenTextResolver: () => 'admin_listening' });
    socket.publish();
  } catch (error) {
    await stop();
    throw error;
  }
  return { [Symbol.asyncDispose]: stop };
}

async function closeWithin(app: FastifyInstance, deadlineMs: number): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
  try {
    await app.close();
  } finally {
    clearTimeout(timer);
  }
}
