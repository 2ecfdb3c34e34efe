import type { Readable } from 'node:stream';
import { guestLimits } from './limits.ts';

/** Reads and drops what the guest says on its control port. Past the limit it is left to fill up: a guest that floods waits, and costs nobody else. */
export function drainControl(control: Readable): void {
  let leftBytes = guestLimits.controlBytes;
  control.on('data', (chunk: Buffer) => {
    leftBytes -= chunk.length;
    if (leftBytes < 0) control.pause();
  });
}
