import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { TLSSocket } from 'node:tls';

/** A visitor's request, over HTTP/1.1 or HTTP/2. */
export type VisitorRequest = IncomingMessage | Http2ServerRequest;
export type VisitorResponse = ServerResponse | Http2ServerResponse;

export function isHttp2(request: VisitorRequest): request is Http2ServerRequest {
  return 'stream' in request;
}

/** The host that the request is for, or undefined unless it names exactly one. */
export function requestedHost(request: VisitorRequest): string | undefined {
  if (isHttp2(request)) return request.authority || request.headers.host;
  const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length === 1 ? request.headers.host : undefined;
}

/** The server name (SNI) of the visitor's TLS connection. */
export function tlsServerName(request: VisitorRequest): string | undefined {
  const { servername } = request.socket as TLSSocket;
  return typeof servername === 'string' && servername !== '' ? servername : undefined;
}

/** Whether a body follows the request's headers. */
export function hasBody(request: VisitorRequest): boolean {
  if (isHttp2(request)) return !request.stream.endAfterHeaders;
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/** Sends status and headers at once, without waiting for the body. Throws if the headers cannot be sent. */
export function sendHead(response: VisitorResponse, status: number, headers: OutgoingHttpHeaders): void {
  if ('stream' in response) response.writeHead(status, headers);
  else {
    response.writeHead(status, headers);
    response.flushHeaders();
  }
}

/** Ends an incomplete response in a way that the visitor recognises as an error. */
export function abortResponse(response: VisitorResponse): void {
  if ('stream' in response) response.stream?.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}
