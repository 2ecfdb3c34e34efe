import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { GuestRefusal } from '../core/ports/guest-agent.ts';

/** Sends a stream as a request body at the guest's speed. Rejects with the source's own error, or too_large past maxBytes. */
export async function upload(source: Readable, target: Writable, maxBytes: number): Promise<void> {
  let sentBytes = 0;
  // Breaks the wait for a source that would otherwise never notice that nobody reads it any more.
  const onTargetClosed = () => source.destroy();
  target.once('close', onTargetClosed);
  try {
    for await (const piece of source) {
      const bytes = Buffer.isBuffer(piece) ? piece : Buffer.from(piece);
      // Node may let go of what was written before an empty write, sent or not: tunnel.ts has more on that.
      if (bytes.length === 0) continue;
      sentBytes += bytes.length;
      if (sentBytes > maxBytes) throw new GuestRefusal('too_large', `the file is larger than ${maxBytes} bytes`);
      if (!target.writable) return;
      if (!target.write(bytes)) await writableAgain(target);
    }
    target.end();
  } finally {
    target.off('close', onTargetClosed);
  }
}

async function writableAgain(target: Writable): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    if (target.writable && target.writableNeedDrain) {
      await Promise.race([once(target, 'drain', { signal }), once(target, 'close', { signal })]);
    }
  } catch {
    // The target failed: its owner hears of that, and the next look at `writable` ends the upload.
  } finally {
    waiting.abort();
  }
}
