import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { ApiError } from '../../core/errors/api-error.ts';

const firstBytes = 65_536;
/** How much more than it may have is still taken from a sender who does not stop. */
const droppedBytes = 64 * 1024 * 1024;

/** A whole body in one buffer. Larger than `maxBytes`: 413 as soon as that is known. */
export async function readBody(
  source: Readable,
  headers: Pick<IncomingHttpHeaders, 'content-length'>,
  maxBytes: number,
): Promise<Buffer> {
  const declaredBytes = Number(headers['content-length'] ?? 0);
  if (declaredBytes > maxBytes) throw refused(source, maxBytes);
  let buffer = Buffer.allocUnsafeSlow(Math.min(firstBytes, declaredBytes || firstBytes, maxBytes));
  let length = 0;
  try {
    for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const start = length;
      length += chunk.length;
      if (length > maxBytes) break;
      if (length > buffer.length) buffer = grown(buffer, start, Math.min(roomFor(length, declaredBytes), maxBytes));
      chunk.copy(buffer, start);
    }
  } catch (cause) {
    throw new ApiError('request_error', 'the body ended too early', { cause });
  }
  if (length > maxBytes) throw refused(source, maxBytes);
  return buffer.subarray(0, length);
}

/** What was announced, once some of it has come; of the rest it is known only that there is more. */
function roomFor(length: number, declaredBytes: number): number {
  return declaredBytes >= length ? declaredBytes : 2 * length;
}

/** The same bytes with room for more. */
function grown(buffer: Buffer, length: number, bytes: number): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(bytes);
  buffer.copy(larger, 0, 0, length);
  return larger;
}

/** Takes the rest of the body and drops it, so that a sender who reads only afterwards gets to the answer. */
function refused(source: Readable, maxBytes: number): ApiError {
  let leftBytes = droppedBytes;
  source.on('error', () => {});
  source.on('data', (chunk: Buffer) => {
    leftBytes -= chunk.length;
    if (leftBytes < 0) source.destroy();
  });
  return new ApiError('request_error', `the body is larger than ${maxBytes} bytes`, { status: 413 });
}
