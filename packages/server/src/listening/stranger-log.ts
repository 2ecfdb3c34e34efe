import type { Log } from '../core/ports/runtime.ts';
import { pacedLog } from '../core/scheduling/paced-log.ts';

/** How many lines of one event strangers can make the service write in a second, on each port. */
export const linesPerSecond = 10;

/** Returns the log for everything that needs no key to cause: refused connections, refused and unauthenticated requests. One for each port. */
export function strangerLog(log: Log): Log {
  return pacedLog(log, linesPerSecond);
}
