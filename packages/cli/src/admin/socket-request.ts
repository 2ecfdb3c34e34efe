import { closeSync, constants, openSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface SocketRequest {
  readonly folder: string;
  /** Of the socket in that folder. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly timeoutMs: number;
}

export interface SocketAnswer {
  readonly status: number;
  readonly body: string;
}

/** One HTTP request through a unix socket. Throws what the system says when there is no answer. */
export async function requestThroughSocket({ folder, name, ...rest }: SocketRequest): Promise<SocketAnswer> {
  // The kernel takes 107 bytes of a socket's path; an open folder makes any path short.
  const handle = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return await exchange(`/proc/self/fd/${handle}/${name}`, rest);
  } finally {
    closeSync(handle);
  }
}

async function exchange(
  socketPath: string,
  { method, path, body, timeoutMs }: Omit<SocketRequest, 'folder' | 'name'>,
): Promise<SocketAnswer> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers = payload === undefined ? {} : { 'content-type': 'application/json' };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    request({ socketPath, method, path, headers, agent: false, signal }, resolve).once('error', reject).end(payload);
  });
  return { status: response.statusCode ?? 0, body: await text(response) };
}
