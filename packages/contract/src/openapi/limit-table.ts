import { byteWords } from '../byte-words.ts';
import type { Limits } from '../limits.ts';

/** One limit as people read it. */
export interface LimitRow {
  readonly limit: string;
  readonly value: string;
  readonly beyond: string;
}

const rateLimited = '429 `rate_limit_exceeded`';
const invalid = '400 `invalid_request`';
const tooLarge = '413 `request_error`';

/** The limits in force and what happens beyond them. */
export function limitTable(limits: Limits): readonly LimitRow[] {
  const row = (limit: string, value: string, beyond: string): LimitRow => ({ limit, value, beyond });
  const minutes = (count: number) => `${figure(count)} minutes`;
  const milliseconds = (count: number) => `${figure(count)} ms`;
  const characters = (count: number) => `${figure(count)} characters`;
  return [
    row('Requests per minute and account', figure(limits.requestsPerMinute), rateLimited),
    row('Sandboxes created per minute and account', figure(limits.creationsPerMinute), rateLimited),
    row(
      'Requests per minute and source address',
      `${figure(limits.sourceRequestsPerMinute)}, counted before the key is looked at`,
      rateLimited,
    ),
    row('Sandboxes provisioning or running at once', figure(limits.concurrentSandboxes), '429 `quota_exceeded`'),
    row('Active API keys of an account', figure(limits.apiKeys), 'no further key is made'),
    row('Lifetime of a sandbox unless asked for', minutes(limits.defaultTimeoutMinutes), 'it is destroyed'),
    row('Longest lifetime, extensions included', `${minutes(limits.maxTimeoutMinutes)} after creation`, 'cut to that'),
    row('Name of a sandbox', characters(limits.nameCharacters), invalid),
    row('Idempotency-Key', characters(limits.idempotencyKeyCharacters), invalid),
    row('Length of a command', characters(limits.commandCharacters), invalid),
    row(
      'Time of a command',
      `${milliseconds(limits.defaultCommandTimeoutMs)} unless asked for; ${milliseconds(limits.minCommandTimeoutMs)} to ${milliseconds(limits.maxCommandTimeoutMs)}`,
      'it is killed with `exit_code` 124; the output so far is kept',
    ),
    row('Captured output', `${byteWords(limits.captureBytes)} per stream`, '`truncated` is true'),
    row('File read or written', byteWords(limits.fileBytes), '413 `file_too_large`'),
    row('Request body', byteWords(limits.bodyBytes), tooLarge),
    row('Request body of the file routes', byteWords(limits.fileBodyBytes), tooLarge),
    row(
      'Page of a list',
      `${figure(limits.defaultPageSize)} unless asked for; at most ${figure(limits.maxPageSize)}`,
      invalid,
    ),
    row('Days of a usage summary', figure(limits.maxUsageDays), invalid),
  ];
}

function figure(count: number): string {
  return count.toLocaleString('en-US');
}
