import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { TLSSocket } from 'node:tls';

/** A visitor's request, over HTTP/1.1 or HTTP/2. */
export type VisitorRequest = IncomingMessage | Http2ServerRequest;
export type VisitorResponse = ServerResponse | Http2ServerResponse;

export function isHttp2(request: VisitorRequest): request is Http2ServerRequest {
  return 'stream' in request;
}

/** The host that the visitor names, if there is exactly one. */
export function hostNamed(request: VisitorRequest): string | undefined {
  if (isHttp2(request)) return request.authority || request.headers.host;
  const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length === 1 ? request.headers.host : undefined;
}

/** The name in the visitor's TLS hello. */
export function nameInHello(request: VisitorRequest): string | undefined {
  const { servername } = request.socket as TLSSocket;
  return typeof servername === 'string' && servername !== '' ? servername : undefined;
}

/** Whether something follows the request's head. */
export function hasBody(request: VisitorRequest): boolean {
  if (isHttp2(request)) return !request.stream.endAfterHeaders;
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/** Sends the head of an answer at once, before there is a body. Throws for headers that cannot be sent. */
export function sendHead(response: VisitorResponse, status: number, headers: OutgoingHttpHeaders): void {
  if ('stream' in response) response.writeHead(status, headers);
  else {
    response.writeHead(status, headers);
    response.flushHeaders();
  }
}

/** Ends an answer that cannot be completed so that the visitor notices. */
export function breakOff(response: VisitorResponse): void {
  if ('stream' in response) response.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}
