import type { Log } from '../../../src/core/ports/log.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log whose lines can be looked at. */
export interface RecordingLog extends Log {
  readonly lines: readonly LogLine[];
  /** The events of the lines with that level. */
  events(level: LogLine['level']): readonly string[];
}

export function recordingLog(): RecordingLog {
  const lines: LogLine[] = [];
  const at = (level: LogLine['level']) => (fields: object, event: string) => {
    lines.push({ level, event, fields: { ...fields } });
  };
  return {
    lines,
    events: (level) => lines.filter((line) => line.level === level).map(({ event }) => event),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
}
