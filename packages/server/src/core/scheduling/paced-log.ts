import type { Log } from '../ports/runtime.ts';

const periodMs = 1_000;

interface Paced {
  endsAtMs: number;
  written: number;
  suppressed: number;
}

/**
 * Writes at most `perSecond` lines of each event in a second, so that those who cause the events cannot fill the disk. The next line says how many
 * were left out. The number of different events must be fixed.
 */
export function pacedLog(log: Log, perSecond: number): Log {
  const events = new Map<string, Paced>();
  const write = (level: keyof Log, fields: object, event: string): void => {
    const nowMs = performance.now();
    const last = events.get(event);
    const current = last !== undefined && nowMs < last.endsAtMs ? last : startPeriod(nowMs, last);
    events.set(event, current);
    if (current.written === perSecond) {
      current.suppressed += 1;
      return;
    }
    current.written += 1;
    const { suppressed } = current;
    current.suppressed = 0;
    log[level](suppressed > 0 ? { ...fields, suppressed } : fields, event);
  };
  return {
    debug: (fields, event) => write('debug', fields, event),
    info: (fields, event) => write('info', fields, event),
    warn: (fields, event) => write('warn', fields, event),
    error: (fields, event) => write('error', fields, event),
  };
}

function startPeriod(nowMs: number, last: Paced | undefined): Paced {
  return { endsAtMs: nowMs + periodMs, written: 0, suppressed: last?.suppressed ?? 0 };
}
