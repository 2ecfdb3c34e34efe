import type { ServerHttp2Stream } from 'node:http2';

/** A refusal as docs/agent-protocol.md lists them. */
export class FakeRefusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A whole JSON answer; nothing when the host has gone meanwhile. */
export function sendJson(stream: ServerHttp2Stream, body: unknown, status = 200): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': status });
  stream.end(JSON.stringify(body));
}

/** 204. */
export function noContent(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.respond({ ':status': 204 }, { endStream: true });
}

/** The whole request body. */
export async function readBody(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
