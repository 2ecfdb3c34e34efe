import { type DestinationStream, destination, type Logger, pino } from 'pino';
import { type DroppedLines, LogRate } from './log-rate.ts';

interface LogSettings {
  readonly logLevel: string;
  /** Whose log it is, for the field `process`. The supervisor's has none. */
  readonly process?: 'service' | 'host';
}

/**
 * Opens the log of this process: one JSON object per line, on standard error unless a test takes the lines, at a bounded rate. Standard output is reserved
 * for people.
 */
export function openLog({ logLevel, process }: LogSettings, output: DestinationStream = openStderr()): Logger {
  const base = process === undefined ? null : { process };
  const time = () => new Date().toISOString();
  const options = {
    level: logLevel,
    base,
    timestamp: () => `,"time":"${time()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    messageKey: 'event',
    redact: ['authorization', '*.authorization', '*.*.authorization'],
  };
  const describe = (dropped: DroppedLines) =>
    `${JSON.stringify({ level: 'warn', time: time(), ...base, ...dropped, event: 'log_lines_dropped' })}\n`;
  return pino(options, new LogRate(output, describe));
}

function openStderr(): DestinationStream {
  const stderr = destination(2);
  // Once the terminal is closed every write fails, and pino would repeat the last one forever while the process exits. Stop logging instead.
  stderr.on('error', () => Object.assign(stderr, { write: () => true, flushSync: () => {} }));
  return stderr;
}
