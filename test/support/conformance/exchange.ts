import * as http from 'node:http';
import * as https from 'node:https';

/** A request as it goes out. */
export interface Outgoing {
  readonly method: string;
  readonly url: string;
  readonly headers?: http.OutgoingHttpHeaders;
  /** Several pieces are sent chunked, without a Content-Length. */
  readonly body?: string | Buffer | readonly Buffer[] | undefined;
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** The address to send from, to be another source for the service. */
  readonly localAddress?: string | undefined;
}

/** A response as it came in. */
export interface Incoming {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

const agents = {
  'http:': new http.Agent({ keepAlive: true, maxSockets: 512 }),
  'https:': new https.Agent({ keepAlive: true, maxSockets: 512 }),
};

const hasCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code;

/** One request and its whole response. Waits as long as it is told to, headers included: commands run for minutes. */
export const exchange = async (outgoing: Outgoing): Promise<Incoming> => {
  const { reused, result } = attempt(outgoing);
  try {
    return await result;
  } catch (error) {
    // The server closed an idle connection in the moment of reuse: nothing was sent.
    if (reused() && hasCode(error, 'ECONNRESET') && !outgoing.signal?.aborted) return await attempt(outgoing).result;
    throw error;
  }
};

const attempt = (outgoing: Outgoing): { readonly reused: () => boolean; readonly result: Promise<Incoming> } => {
  const { method, headers = {}, body, deadlineMs = 180_000, localAddress } = outgoing;
  const url = new URL(outgoing.url);
  const secure = url.protocol === 'https:';
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = outgoing.signal ? AbortSignal.any([outgoing.signal, deadline]) : deadline;
  const whole = typeof body === 'string' ? Buffer.from(body) : Buffer.isBuffer(body) ? body : undefined;
  const length = whole === undefined ? {} : { 'content-length': whole.length };
  const request = (secure ? https : http).request({
    host: url.hostname,
    port: url.port || (secure ? 443 : 80),
    // As it was given: a URL would tidy up dots and escapes.
    path: outgoing.url.slice(url.origin.length),
    method,
    headers: { ...length, ...headers },
    agent: agents[secure ? 'https:' : 'http:'],
    signal,
    ...(localAddress ? { localAddress } : {}),
  });
  const result = new Promise<Incoming>((resolve, reject) => {
    request.on('error', (cause) =>
      reject(
        deadline.aborted ? new Error(`no answer to ${method} ${outgoing.url} in ${deadlineMs} ms`, { cause }) : cause,
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
};
