import { type DestinationStream, destination, type Logger, pino } from 'pino';

/** Opens the log of this process: one JSON object per line, on standard error unless a test takes the lines. Standard output is reserved for people. */
export function openLog({ logLevel }: { readonly logLevel: string }, output: DestinationStream = openStderr()): Logger {
  const options = {
    level: logLevel,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    messageKey: 'event',
    redact: ['authorization', '*.authorization', '*.*.authorization'],
  };
  return pino(options, output);
}

function openStderr(): DestinationStream {
  const stderr = destination(2);
  // Once the terminal is closed every write fails, and pino would repeat the last one forever while the process exits. Stop logging instead.
  stderr.on('error', () => Object.assign(stderr, { write: () => true, flushSync: () => {} }));
  return stderr;
}
