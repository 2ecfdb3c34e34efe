import type { Agent, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import * as https from 'node:https';
import type { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { connectHttp2 } from './connect-http2.ts';
import { type Place, routeTo } from './route.ts';

export const protocols = ['HTTP/1.1', 'HTTP/2'] as const;
export type Protocol = (typeof protocols)[number];

export interface Ask {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer | Readable | undefined;
  readonly protocol?: Protocol;
  /** To keep connections for later requests over HTTP/1.1; else each has one of its own. */
  readonly agent?: Agent;
  readonly deadlineMs?: number;
}

/** An answer whose body is still to come. */
export interface Begun {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const usualDeadlineMs = 30_000;

/** Asks for a path of a preview and settles with the head of the answer. The end of the body is the end of the connection. */
export const begin = (place: Place, path = '/', ask: Ask = {}): Promise<Begun> =>
  ask.protocol === 'HTTP/2' ? beginHttp2(place, path, ask) : beginHttp1(place, path, ask);

/** The whole answer; fails if it breaks off. */
export const visit = async (place: Place, path = '/', ask: Ask = {}): Promise<Answer> => {
  const { status, headers, body } = await begin(place, path, ask);
  return { status, headers, text: (await buffer(body)).toString('utf8') };
};

/** The answer's body as JSON; fails unless its status is 200. */
export const visitJson = async <Body>(place: Place, path: string, ask: Ask = {}): Promise<Body> => {
  const { status, text } = await visit(place, path, ask);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text) as Body;
};

const send = (body: Ask['body'], into: Writable): void => {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) into.end(body);
  else body.on('error', (error) => into.destroy(error)).pipe(into);
};

const beginHttp1 = (place: Place, path: string, ask: Ask): Promise<Begun> =>
  new Promise((resolve, reject) => {
    const request = https.request({
      ...routeTo(place),
      agent: ask.agent ?? false,
      method: ask.method ?? 'GET',
      path,
      headers: { host: new URL(place.url).host, ...ask.headers },
      signal: AbortSignal.timeout(ask.deadlineMs ?? usualDeadlineMs),
    });
    request.on('error', reject);
    request.on('response', (body) => resolve({ status: body.statusCode ?? 0, headers: body.headers, body }));
    request.flushHeaders();
    send(ask.body, request);
  });

const beginHttp2 = async (place: Place, path: string, ask: Ask): Promise<Begun> => {
  const session = await connectHttp2(place);
  const stream = askHttp2(session, path, ask);
  const deadline = setTimeout(() => session.destroy(new Error('no answer')), ask.deadlineMs ?? usualDeadlineMs);
  stream.once('close', () => {
    clearTimeout(deadline);
    session.close();
  });
  return await headOf(stream);
};

/** Sends a request over an HTTP/2 connection that is open. */
export const askHttp2 = (session: ClientHttp2Session, path: string, ask: Ask = {}): ClientHttp2Stream => {
  const { method = 'GET', headers = {}, body } = ask;
  const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: body === undefined });
  if (body !== undefined) send(body, stream);
  return stream;
};

/** The head of an answer over HTTP/2. */
export const headOf = (stream: ClientHttp2Stream): Promise<Begun> =>
  new Promise((resolve, reject) => {
    stream.on('error', reject);
    stream.once('close', () => reject(new Error(`closed with code ${stream.rstCode}`)));
    stream.once('response', (headers) => resolve({ status: headers[':status'] ?? 0, headers, body: stream }));
  });
