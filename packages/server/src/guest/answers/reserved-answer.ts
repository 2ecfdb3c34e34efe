import { NoRoom, type Reserve } from '../../core/ports/guest-agent.ts';
import { ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';

/**
 * Counts the bytes of an answer as they arrive, and reserves room for them step by step: a command may run for minutes after its first output.
 * Throws a ProtocolViolation beyond `maxBytes`, and NoRoom if nothing more can be reserved.
 */
export function countAnswer(maxBytes: number, reserve: Reserve | undefined): (bytes: number) => void {
  let length = 0;
  let roomBytes: number = reserve === undefined ? maxBytes : guestLimits.unreservedBytes;
  return (bytes) => {
    length += bytes;
    if (length > maxBytes) throw new ProtocolViolation(`an answer of more than ${maxBytes} bytes`);
    if (length <= roomBytes) return;
    roomBytes = Math.min(length + guestLimits.reserveStepBytes, maxBytes);
    if (reserve?.(roomBytes) === false) throw new NoRoom(maxBytes);
  };
}
