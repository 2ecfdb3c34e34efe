import { fixedLimits, formatBytes, type Limits } from '../limits.ts';

/** One row of the limits table. */
export interface LimitRow {
  readonly limit: string;
  readonly value: string;
  readonly effect: string;
}

const rateLimited = '429 `rate_limit_exceeded`';
const invalid = '400 `invalid_request`';
const tooLarge = '413 `request_error`';

/** The limits in force and the effect of exceeding them. */
export function limitTable(limits: Limits): readonly LimitRow[] {
  const row = (limit: string, value: string, effect: string): LimitRow => ({ limit, value, effect });
  const minutes = (count: number) => `${formatCount(count)} minutes`;
  const milliseconds = (count: number) => `${formatCount(count)} ms`;
  const characters = (count: number) => `${formatCount(count)} characters`;
  return [
    row('Requests per minute per account', formatCount(limits.requestsPerMinute), rateLimited),
    row(
      'Sandbox creations per minute per account; each copy of a fork is one',
      formatCount(limits.creationsPerMinute),
      rateLimited,
    ),
    row(
      'Requests per minute per source address',
      `${formatCount(limits.sourceRequestsPerMinute)}, counted before the key is verified`,
      rateLimited,
    ),
    row(
      'Concurrent sandboxes (provisioning and running)',
      formatCount(limits.concurrentSandboxes),
      '429 `quota_exceeded`',
    ),
    row('Active API keys per account', formatCount(limits.apiKeys), 'no further key can be created'),
    row('Default sandbox lifetime', minutes(limits.defaultTimeoutMinutes), 'automatic teardown'),
    row(
      'Maximum sandbox lifetime, including extensions',
      `${minutes(limits.maxTimeoutMinutes)} after creation`,
      'hard cap',
    ),
    row('Sandbox name', characters(fixedLimits.nameCharacters), invalid),
    row('Idempotency-Key', characters(fixedLimits.idempotencyKeyCharacters), invalid),
    row('Command length', characters(limits.commandCharacters), invalid),
    row(
      'Command timeout',
      `${milliseconds(limits.defaultCommandTimeoutMs)} by default; ${milliseconds(fixedLimits.minCommandTimeoutMs)} to ${milliseconds(limits.maxCommandTimeoutMs)}`,
      'process killed, `exit_code` 124, output so far returned',
    ),
    row('Captured output', `${formatBytes(limits.captureBytes)} per stream`, '`truncated` is true'),
    row(
      'Output of a live command that is kept for its readers',
      formatBytes(fixedLimits.spoolBytes),
      'the oldest output is dropped; a reader that comes too late gets the event `gap`',
    ),
    row(
      'Background commands per sandbox',
      formatCount(fixedLimits.backgroundCommandsPerSandbox),
      '429 `rate_limit_exceeded`',
    ),
    row(
      'Open streams',
      `${formatCount(fixedLimits.streamsPerSandbox)} per sandbox, ${formatCount(fixedLimits.streamsPerAccount)} per account`,
      '429 `rate_limit_exceeded`',
    ),
    row(
      'Open terminals',
      `${formatCount(fixedLimits.terminalsPerSandbox)} per sandbox, ${formatCount(fixedLimits.terminalsPerAccount)} per account`,
      '429 `rate_limit_exceeded`',
    ),
    row('A message to a terminal', formatBytes(fixedLimits.terminalMessageBytes), 'the connection is closed with 1009'),
    row(
      'Unused tickets per account',
      `${formatCount(fixedLimits.ticketsPerAccount)}; a ticket works once, within ${formatCount(fixedLimits.ticketSeconds)} seconds`,
      '429 `rate_limit_exceeded`',
    ),
    row(
      'Stored output per account',
      formatBytes(limits.storedOutputMb * 1024 ** 2),
      'the oldest output is dropped; `output_dropped` is true',
    ),
    row('Snapshots per account', formatCount(limits.snapshots), '429 `quota_exceeded`'),
    row(
      'Disk space of snapshots per account',
      formatBytes(limits.snapshotStorageMb * 1024 ** 2),
      '429 `quota_exceeded` for the next snapshot',
    ),
    row('Snapshot name and alias', characters(fixedLimits.aliasCharacters), invalid),
    row('File read or written', formatBytes(limits.fileBytes), '413 `file_too_large`'),
    row('Request body', formatBytes(limits.bodyBytes), tooLarge),
    row('Request body of the file routes', formatBytes(limits.fileBodyBytes), tooLarge),
    row(
      'List page size',
      `${formatCount(limits.defaultPageSize)} by default; at most ${formatCount(limits.maxPageSize)}`,
      invalid,
    ),
    row('Period of a usage summary', `${formatCount(fixedLimits.maxUsageDays)} days`, invalid),
  ];
}

function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}
