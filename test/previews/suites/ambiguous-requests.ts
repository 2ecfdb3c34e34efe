/** The lines of a request, each terminated by CRLF. */
export function lines(...all: readonly string[]): string {
  return all.map((line) => `${line}\r\n`).join('');
}

/** The smuggled request, which must never reach a server. */
const hidden = lines('GET /seen?hidden HTTP/1.1', 'host: localhost', '');
const post = ['POST /upload HTTP/1.1'];

/** Requests that two servers may interpret differently. A gateway that reads them as two requests has been tricked. */
export const ambiguousRequests: Readonly<Record<string, (host: string) => string>> = {
  'a content-length and chunks': (host) =>
    lines(...post, `host: ${host}`, 'content-length: 4', 'transfer-encoding: chunked', '', '0', '') + hidden,
  'chunks and a content-length': (host) =>
    lines(...post, `host: ${host}`, 'transfer-encoding: chunked', 'content-length: 4', '', '0', '') + hidden,
  'two content-lengths': (host) =>
    lines(...post, `host: ${host}`, 'content-length: 0', `content-length: ${hidden.length}`, '') + hidden,
  'a list of content-lengths': (host) =>
    lines(...post, `host: ${host}`, `content-length: 0, ${hidden.length}`, '') + hidden,
  'a content-length with a sign': (host) => lines(...post, `host: ${host}`, 'content-length: +4', '', 'abcd'),
  'an unknown transfer encoding': (host) =>
    lines(...post, `host: ${host}`, 'transfer-encoding: xchunked', '', '0', '') + hidden,
  'two transfer encodings': (host) =>
    lines(...post, `host: ${host}`, 'transfer-encoding: gzip, chunked', '', '0', '') + hidden,
  'an encoding after chunked': (host) =>
    lines(...post, `host: ${host}`, 'transfer-encoding: chunked, identity', '', '0', '') + hidden,
  'a transfer encoding in two headers': (host) =>
    lines(...post, `host: ${host}`, 'transfer-encoding: chunked', 'transfer-encoding: identity', '', '0', '') + hidden,
  'a folded header': (host) =>
    lines(...post, `host: ${host}`, 'x-folded: a', ' transfer-encoding: chunked', '', '0', '') + hidden,
  'a space before a colon': (host) =>
    lines(...post, `host: ${host}`, 'transfer-encoding : chunked', '', '0', '') + hidden,
  'a bare line feed in the head': (host) =>
    `POST /upload HTTP/1.1\r\nhost: ${host}\nx-a: b\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'a bare line feed after a chunk size': (host) =>
    `${lines(...post, `host: ${host}`, 'transfer-encoding: chunked', '')}1\na\r\n0\r\n\r\n${hidden}`,
  'a bare carriage return in a header': (host) =>
    `POST /upload HTTP/1.1\r\nhost: ${host}\r\nx-a: b\rtransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'a NUL in a header': (host) => lines(...post, `host: ${host}`, 'x-a: b\0c', 'content-length: 0', ''),
  'two hosts': (host) => lines('GET /seen HTTP/1.1', `host: ${host}`, 'host: localhost', 'connection: close', ''),
  'no host': (_host) => lines('GET /seen HTTP/1.1', 'connection: close', ''),
  'an invalid chunk size': (host) =>
    `${lines(...post, `host: ${host}`, 'transfer-encoding: chunked', '')}zz\r\n${hidden}`,
  'a chunk size that is too large': (host) =>
    `${lines(...post, `host: ${host}`, 'transfer-encoding: chunked', '')}fffffffffffffffff\r\n${hidden}`,
};
