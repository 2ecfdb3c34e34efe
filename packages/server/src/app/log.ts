import { destination, type Logger, pino } from 'pino';
import type { Config } from './config.ts';

/** The service's log: one JSON object per line on standard error, so that standard output stays for people. */
export function openLog({ logLevel }: Pick<Config, 'logLevel'>): Logger {
  const options = {
    level: logLevel,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    messageKey: 'event',
    redact: ['authorization', '*.authorization', '*.*.authorization'],
  };
  return pino(options, destination(2));
}
