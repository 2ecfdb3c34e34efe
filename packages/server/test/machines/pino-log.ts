import { type Logger, pino } from 'pino';

/** A real pino logger and the lines it has written so far, parsed: what an operator would read. */
export function pinoLog(): { readonly log: Logger; readonly lines: () => Record<string, unknown>[] } {
  const written: string[] = [];
  const log = pino(
    { base: null, timestamp: false, messageKey: 'event' },
    {
      write: (line: string) => {
        written.push(line);
      },
    },
  );
  return { log, lines: () => written.map((line) => JSON.parse(line)) };
}
