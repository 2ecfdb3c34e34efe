import type { Log } from '../../src/core/ports/log.ts';

/** A log that a test can look into. */
export class RecordedLog implements Log {
  readonly events: string[] = [];

  debug(_fields: object, event: string): void {
    this.events.push(event);
  }

  info(_fields: object, event: string): void {
    this.events.push(event);
  }

  warn(_fields: object, event: string): void {
    this.events.push(event);
  }

  error(_fields: object, event: string): void {
    this.events.push(event);
  }
}
