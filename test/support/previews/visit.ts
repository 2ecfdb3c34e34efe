import type { Agent, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import * as https from 'node:https';
import type { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { connectHttp2, connectionOptions, type PreviewAddress } from './connections.ts';

export const protocols = ['HTTP/1.1', 'HTTP/2'] as const;
export type Protocol = (typeof protocols)[number];

export interface VisitOptions {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer | Readable | undefined;
  readonly protocol?: Protocol;
  /** Reuses connections over HTTP/1.1; without an agent, each request has its own. */
  readonly agent?: Agent;
  readonly deadlineMs?: number;
}

/** A response whose body has not been read. */
export interface StreamedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

export interface VisitResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const defaultDeadlineMs = 120_000;

/** Sends a request to a preview and returns once the response headers arrive. The connection ends with the body. */
export function startVisit(address: PreviewAddress, path = '/', options: VisitOptions = {}): Promise<StreamedResponse> {
  return options.protocol === 'HTTP/2' ? startHttp2(address, path, options) : startHttp1(address, path, options);
}

/** Sends a request and returns the complete response. Fails if the response is truncated. */
export async function visit(address: PreviewAddress, path = '/', options: VisitOptions = {}): Promise<VisitResponse> {
  const { status, headers, body } = await startVisit(address, path, options);
  return { status, headers, text: (await buffer(body)).toString('utf8') };
}

/** Sends a request and returns the JSON body. Fails unless the status is 200. */
export async function visitJson<Body>(
  address: PreviewAddress,
  path: string,
  options: VisitOptions = {},
): Promise<Body> {
  const { status, text } = await visit(address, path, options);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text) as Body;
}

function send(body: VisitOptions['body'], into: Writable): void {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) into.end(body);
  else body.on('error', (error) => into.destroy(error)).pipe(into);
}

function startHttp1(address: PreviewAddress, path: string, options: VisitOptions): Promise<StreamedResponse> {
  return new Promise((resolve, reject) => {
    const request = https.request({
      ...connectionOptions(address),
      agent: options.agent ?? false,
      method: options.method ?? 'GET',
      path,
      headers: { host: new URL(address.url).host, ...options.headers },
      signal: AbortSignal.timeout(options.deadlineMs ?? defaultDeadlineMs),
    });
    request.on('error', reject);
    request.on('response', (body) => resolve({ status: body.statusCode ?? 0, headers: body.headers, body }));
    request.flushHeaders();
    send(options.body, request);
  });
}

async function startHttp2(address: PreviewAddress, path: string, options: VisitOptions): Promise<StreamedResponse> {
  const session = await connectHttp2(address);
  const stream = requestHttp2(session, path, options);
  const deadline = setTimeout(() => session.destroy(new Error('no response')), options.deadlineMs ?? defaultDeadlineMs);
  stream.once('close', () => {
    clearTimeout(deadline);
    session.close();
  });
  return await responseHead(stream);
}

/** Sends a request over an open HTTP/2 connection. */
export function requestHttp2(session: ClientHttp2Session, path: string, options: VisitOptions = {}): ClientHttp2Stream {
  const { method = 'GET', headers = {}, body } = options;
  const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: body === undefined });
  if (body !== undefined) send(body, stream);
  return stream;
}

/** Waits for the response headers of an HTTP/2 request. */
export function responseHead(stream: ClientHttp2Stream): Promise<StreamedResponse> {
  return new Promise((resolve, reject) => {
    stream.on('error', reject);
    stream.once('close', () => reject(new Error(`closed with code ${stream.rstCode}`)));
    stream.once('response', (headers) => resolve({ status: headers[':status'] ?? 0, headers, body: stream }));
  });
}
