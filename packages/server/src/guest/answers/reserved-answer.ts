import { NoRoom, type Reserve } from '../../core/ports/guest-agent.ts';
import { ProtocolViolation } from '../guest-errors.ts';
import { guestLimits } from '../guest-limits.ts';

/**
 * Counts the bytes of an answer as they arrive. Throws a ProtocolViolation beyond `maxBytes`, and NoRoom as soon as the answer is a large one
 * for which nothing can be reserved.
 */
export function countAnswer(maxBytes: number, reserve: Reserve | undefined): (bytes: number) => void {
  let length = 0;
  let isReserved = reserve === undefined;
  return (bytes) => {
    length += bytes;
    if (length > maxBytes) throw new ProtocolViolation(`an answer of more than ${maxBytes} bytes`);
    if (isReserved || length <= guestLimits.unreservedBytes) return;
    if (reserve?.(maxBytes) === false) throw new NoRoom(maxBytes);
    isReserved = true;
  };
}
