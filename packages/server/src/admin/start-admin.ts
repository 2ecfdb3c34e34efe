import { chmodSync, closeSync, constants, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { adminSocketName } from '@mayfly/contract/admin';
import type { FastifyBaseLogger } from 'fastify';
import { closeHttp } from '../core/scheduling/deadline.ts';
import type { AdminNeeds, ServiceUrls } from './admin-routes.ts';
import { buildAdmin } from './build-admin.ts';

/** How long requests in flight may take to finish when the service stops. */
const drainMs = 2_000;

export interface AdminOptions {
  readonly core: AdminNeeds;
  /** Locked by this service. */
  readonly dataDir: string;
  readonly log: FastifyBaseLogger;
  readonly urls: ServiceUrls;
}

/** Serves the admin API on a socket in the data folder that only the service's own user (root) can open. */
export async function startAdmin({ core, dataDir, log, urls }: AdminOptions): Promise<AsyncDisposable> {
  const app = buildAdmin(core, log, urls);
  const socket = preparePrivateSocket(dataDir, adminSocketName);
  const stop = async () => {
    await closeHttp(app, drainMs);
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

/** A unix socket that nobody but its owner could open at any time. */
interface PrivateSocket {
  /** The path to bind. It is short however long the folder's path is, because the kernel allows only 107 bytes. */
  readonly bindPath: string;
  /** To be called when it is listening. Moves the socket to its final path, replacing one that a killed service left. */
  publish(): void;
  /** To be called when it is closed. */
  remove(): void;
}

/** Prepares a socket in a folder. It is bound in a staging directory that nobody else can enter, and moved once its mode is set. */
function preparePrivateSocket(folder: string, name: string): PrivateSocket {
  const stagingDir = join(folder, `${name}.new`);
  const path = join(folder, name);
  rmSync(stagingDir, { recursive: true, force: true });
  mkdirSync(stagingDir, { mode: 0o700 });
  // Open until the end, because closing the server unlinks the socket by this path.
  const handle = openSync(stagingDir, constants.O_RDONLY | constants.O_DIRECTORY);
  const removeStagingDir = () => rmSync(stagingDir, { recursive: true, force: true });
  let published = false;
  return {
    bindPath: `/proc/self/fd/${handle}/${name}`,
    publish: () => {
      chmodSync(join(stagingDir, name), 0o600);
      renameSync(join(stagingDir, name), path);
      published = true;
      removeStagingDir();
    },
    remove: () => {
      if (published) rmSync(path, { force: true });
      removeStagingDir();
      closeSync(handle);
    },
  };
}
