import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** How often a socket that is not there yet is tried again, in milliseconds. */
const retryMs = 2;

const tryConnect = (path: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  });

const isNotYetThere = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ECONNREFUSED');

/** Connects to a unix socket that a starting process is about to make. Gives up when the signal aborts. */
export const connectUnix = async (path: string, signal: AbortSignal): Promise<Socket> => {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await tryConnect(path);
    } catch (error) {
      if (!isNotYetThere(error)) throw error;
    }
    await wait(retryMs);
  }
};
