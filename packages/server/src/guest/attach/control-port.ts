import type { Readable } from 'node:stream';
import { guestLimits } from '../guest-limits.ts';

/** Long enough for every line that matters; a longer line is ignored. */
export const maxLineBytes = 64;

/**
 * Reads the control port. Resolves with a reason once the agent reports that the session with this nonce is over: it ended the session
 * or was restarted. Lines before the session's `ready` are leftovers of earlier sessions and are ignored. Past the byte limit the port
 * is not read any more, so that a guest that floods it only blocks itself.
 */
export function watchControlPort(control: Readable, nonce: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let ready = false;
  const onLine = (line: string) => {
    if (line === `ready ${nonce}`) ready = true;
    else if (ready && line === `ended ${nonce}`) resolve('the agent ended the session');
    else if (ready && line === 'started') resolve('the agent was restarted');
  };
  let leftBytes = guestLimits.controlBytes;
  let partial = '';
  control.on('data', (chunk: Buffer) => {
    const allowed = chunk.subarray(0, leftBytes);
    leftBytes -= allowed.length;
    if (leftBytes === 0) control.pause();
    const lines = (partial + allowed.toString('latin1')).split('\n');
    // One byte more than the limit is kept, so that the end of a long line does not pass for a line.
    partial = (lines.pop() ?? '').slice(0, maxLineBytes + 1);
    for (const line of lines) if (line.length <= maxLineBytes) onLine(line);
  });
  return promise;
}
