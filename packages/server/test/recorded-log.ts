import type { Log } from '../src/core/ports/runtime.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that keeps its lines, for tests to inspect. */
export class RecordedLog implements Log {
  readonly lines: LogLine[] = [];

  /** All events, oldest first. */
  get events(): readonly string[] {
    return this.lines.map(({ event }) => event);
  }

  eventsAt(wanted: LogLine['level']): readonly string[] {
    return this.lines.filter(({ level }) => level === wanted).map(({ event }) => event);
  }

  debug(fields: object, event: string): void {
    this.lines.push({ level: 'debug', event, fields: { ...fields } });
  }

  info(fields: object, event: string): void {
    this.lines.push({ level: 'info', event, fields: { ...fields } });
  }

  warn(fields: object, event: string): void {
    this.lines.push({ level: 'warn', event, fields: { ...fields } });
  }

  error(fields: object, event: string): void {
    this.lines.push({ level: 'error', event, fields: { ...fields } });
  }
}
