import * as http from 'node:http';
import * as https from 'node:https';
import { visit as visitPath } from '../previews/visit.ts';

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: http.OutgoingHttpHeaders;
  /** An array is sent in chunks, without a Content-Length. */
  readonly body?: string | Buffer | readonly Buffer[] | undefined;
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** The source address, which has a rate limit of its own. */
  readonly localAddress?: string | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

const agents = {
  'http:': new http.Agent({ keepAlive: true, maxSockets: 512 }),
  'https:': new https.Agent({ keepAlive: true, maxSockets: 512 }),
};

/** Sends a request and reads the complete response. There is no limit but the deadline: commands run for minutes. */
export async function sendRequest(options: HttpRequest): Promise<HttpResponse> {
  const { reused, result } = attempt(options);
  try {
    return await result;
  } catch (error) {
    // The server closed the idle connection when it was about to be reused: nothing was sent.
    const isReset = (error as NodeJS.ErrnoException).code === 'ECONNRESET';
    if (reused() && isReset && !options.signal?.aborted) return await attempt(options).result;
    throw error;
  }
}

function attempt(options: HttpRequest): { readonly reused: () => boolean; readonly result: Promise<HttpResponse> } {
  const { method, headers = {}, body, deadlineMs = 180_000, localAddress } = options;
  const url = new URL(options.url);
  const secure = url.protocol === 'https:';
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  const whole = typeof body === 'string' ? Buffer.from(body) : Buffer.isBuffer(body) ? body : undefined;
  const length = whole === undefined ? {} : { 'content-length': whole.length };
  const request = (secure ? https : http).request({
    host: url.hostname,
    port: url.port || (secure ? 443 : 80),
    // Unchanged: a URL object would normalise dots and escapes.
    path: options.url.slice(url.origin.length),
    method,
    headers: { ...length, ...headers },
    agent: agents[secure ? 'https:' : 'http:'],
    signal,
    ...(localAddress ? { localAddress } : {}),
  });
  const result = new Promise<HttpResponse>((resolve, reject) => {
    request.on('error', (cause) =>
      reject(
        deadline.aborted ? new Error(`no response to ${method} ${options.url} in ${deadlineMs} ms`, { cause }) : cause,
      ),
    );
    request.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(pieces).toString('utf8'),
        }),
      );
    });
  });
  if (whole === undefined && Array.isArray(body)) for (const piece of body as readonly Buffer[]) request.write(piece);
  request.end(whole);
  return { reused: () => request.reusedSocket, result };
}

/**
 * Opens a preview URL. Without `ca`, any certificate is accepted. A connection that is refused or closed is reported as status 599; a timeout
 * fails.
 */
export async function visitPreview(url: string, ca?: string): Promise<HttpResponse> {
  try {
    return await visitPath({ url, ca });
  } catch (error) {
    const { name, message } = error as Error;
    if (name === 'AbortError' || name === 'TimeoutError') throw error;
    return { status: 599, headers: {}, text: message };
  }
}
