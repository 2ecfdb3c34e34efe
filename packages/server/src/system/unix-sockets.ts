import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { machineDeadlines } from '../core/ports/machine-deadlines.ts';
import type { AgentChannel } from '../core/ports/machine-driver.ts';

/** The unix sockets of the two agent ports of a machine. */
export interface AgentSocketPaths {
  readonly control: string;
  readonly data: string;
}

/** How long to wait before trying again to connect to a socket that is not ready yet. */
const retryMs = 2;

/** Connects to a unix socket that a starting process is about to create. Retries until the signal is aborted. */
export async function connectUnix(path: string, signal: AbortSignal): Promise<Socket> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await connectOnce(path);
    } catch (error) {
      if (!isNotReadyYet(error)) throw error;
    }
    await wait(retryMs);
  }
}

/** Connects to both agent ports of a machine that runs. */
export async function openAgentChannel(sockets: AgentSocketPaths, signal?: AbortSignal): Promise<AgentChannel> {
  const deadline = AbortSignal.timeout(machineDeadlines.attach.openChannelMs);
  return await connectBoth(sockets, signal ? AbortSignal.any([signal, deadline]) : deadline);
}

/** Connects to both agent ports of a machine. Retries until the signal is aborted. */
export async function connectBoth(sockets: AgentSocketPaths, signal: AbortSignal): Promise<AgentChannel> {
  const control = await connectUnix(sockets.control, signal);
  try {
    const data = await connectUnix(sockets.data, signal);
    return {
      control,
      data,
      close: () => {
        control.destroy();
        data.destroy();
      },
    };
  } catch (error) {
    control.destroy();
    throw error;
  }
}

/** Connects to a unix socket, or fails at once. */
export function connectOnce(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/** The socket does not exist or listen yet, or its process has not accepted earlier connections yet. */
const notYetCodes: readonly unknown[] = ['ENOENT', 'ECONNREFUSED', 'EAGAIN'];

function isNotReadyYet(error: unknown): boolean {
  return error instanceof Error && 'code' in error && notYetCodes.includes(error.code);
}
