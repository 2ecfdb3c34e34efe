import { randomBytes } from 'node:crypto';
import { GuestUnreachable } from '../../core/ports/guest-agent.ts';
import type { AgentChannel } from '../../core/ports/machine-driver.ts';
import { DeadlineExceeded, withDeadline } from '../../core/scheduling/deadline.ts';
import { NoAnswer, ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';

/** The nonce of one attach: 32 lower-case hex digits. */
export function createNonce(): string {
  return randomBytes(16).toString('hex');
}

/** Steps 1 to 4 of an attach (docs/agent-protocol.md). Afterwards the data stream is paused right behind the agent's marker. */
export async function synchronise(
  channel: AgentChannel,
  nonce: string,
  deadlineMs: number,
  repeatMs: number,
): Promise<void> {
  const { control, data } = channel;
  const scanner = new MarkerScanner(Buffer.from(`MAYFLY-SYNC ${nonce}\n`));
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  const onGone = () => reject(new GuestUnreachable('the agent channel closed while attaching'));
  const onData = (chunk: Buffer) => {
    const rest = scanner.push(chunk);
    if (rest !== undefined) {
      data.off('data', onData).pause();
      if (rest.length > 0) data.unshift(rest);
      resolve();
    } else if (scanner.droppedBytes > guestLimits.syncBytes) {
      data.off('data', onData).pause();
      reject(new ProtocolViolation(`no marker in ${guestLimits.syncBytes} bytes`));
    }
  };
  const sendAttach = () => {
    // A guest that does not read must not make the lines pile up here.
    if (control.writable && control.writableLength === 0) control.write(`\nattach ${nonce}\n`);
  };
  const repeating = setInterval(sendAttach, repeatMs);
  try {
    if (data.destroyed || control.destroyed) onGone();
    else {
      control.on('close', onGone);
      data.on('end', onGone).on('close', onGone).on('data', onData);
      sendAttach();
      data.write(`\nMAYFLY-SYNC ${nonce}\n`);
    }
    await withDeadline('attaching to the agent', Math.round(deadlineMs), done);
  } catch (error) {
    throw error instanceof DeadlineExceeded ? new NoAnswer(error.message) : error;
  } finally {
    clearInterval(repeating);
    data.off('data', onData).off('end', onGone).off('close', onGone).pause();
    control.off('close', onGone);
  }
}

/** Finds the end of a marker in a stream of chunks. Buffers less than the length of the marker. */
export class MarkerScanner {
  readonly #marker: Buffer;
  #tail: Buffer = Buffer.alloc(0);
  #droppedBytes = 0;

  constructor(marker: Buffer) {
    if (marker.length === 0) throw new RangeError('the marker is empty');
    this.#marker = marker;
  }

  /** The number of bytes read so far without a complete marker. */
  get droppedBytes(): number {
    return this.#droppedBytes;
  }

  /** The bytes after the marker in this chunk (possibly none), or undefined as long as the marker is not complete. */
  push(chunk: Buffer): Buffer | undefined {
    const reach = this.#marker.length - 1;
    const border = Buffer.concat([this.#tail, chunk.subarray(0, reach)]);
    const atBorder = border.indexOf(this.#marker);
    if (atBorder >= 0) return chunk.subarray(atBorder + this.#marker.length - this.#tail.length);
    const within = chunk.indexOf(this.#marker);
    if (within >= 0) return chunk.subarray(within + this.#marker.length);
    this.#droppedBytes += chunk.length;
    const last = chunk.length >= reach ? chunk : border;
    this.#tail = Buffer.from(last.subarray(Math.max(0, last.length - reach)));
    return undefined;
  }
}
