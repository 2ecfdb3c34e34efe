import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { guestLimits } from '../guest-limits.ts';

/** Sends a body and ends the request, in pieces that wait for the guest to read. Resolves early if the request is over before. */
export async function sendBody(body: Buffer, target: Writable): Promise<void> {
  const { writeBytes } = guestLimits;
  let sentBytes = 0;
  while (body.length - sentBytes > writeBytes) {
    if (!target.writable) return;
    const piece = body.subarray(sentBytes, sentBytes + writeBytes);
    if (!target.write(piece)) await drained(target);
    sentBytes += writeBytes;
  }
  if (target.writable) target.end(body.subarray(sentBytes));
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
