import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import { GuestRefusal } from '../../core/ports/guest-agent.ts';
import { guestLimits } from '../guest-limits.ts';

/** The body of a request: bytes, or a stream of at most maxBytes. */
export type RequestBody = Buffer | { readonly source: Readable; readonly maxBytes: number };

/** Sends a body and ends the request. Rejects as `upload` does. */
export async function sendBody(body: RequestBody, target: Writable): Promise<void> {
  if (!Buffer.isBuffer(body)) await upload(body.source, target, body.maxBytes);
  else if (body.length <= guestLimits.writeBytes) target.end(body);
  else await upload(Readable.from(pieces(body)), target, body.length);
}

/** Releases the source of a body that is not sent. */
export function discardBody(body: RequestBody | undefined): void {
  if (body !== undefined && !Buffer.isBuffer(body)) body.source.destroy();
}

/** Sends a stream as a request body with backpressure. Rejects with the error of the source, or `too_large` beyond maxBytes. */
export async function upload(source: Readable, target: Writable, maxBytes: number): Promise<void> {
  let sentBytes = 0;
  // Without this the loop below could wait forever for a source that does not notice that its reader is gone.
  const onTargetClosed = () => source.destroy();
  target.once('close', onTargetClosed);
  try {
    for await (const piece of source) {
      const bytes = Buffer.isBuffer(piece) ? piece : Buffer.from(piece);
      // Node mishandles empty writes; see skipEmptyWrites in tunnel.ts.
      if (bytes.length === 0) continue;
      sentBytes += bytes.length;
      if (sentBytes > maxBytes) throw new GuestRefusal('too_large', `the file is larger than ${maxBytes} bytes`);
      if (!target.writable) return;
      if (!target.write(bytes)) await drained(target);
    }
    target.end();
  } finally {
    target.off('close', onTargetClosed);
  }
}

function* pieces(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += guestLimits.writeBytes) yield body.subarray(at, at + guestLimits.writeBytes);
}

/** Waits until the target accepts more, or is closed. */
async function drained(target: Writable): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    if (target.writable && target.writableNeedDrain) {
      await Promise.race([once(target, 'drain', { signal }), once(target, 'close', { signal })]);
    }
  } catch {
    // The owner of the target handles its errors; the next check of `writable` ends the upload.
  } finally {
    waiting.abort();
  }
}
