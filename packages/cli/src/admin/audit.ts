import { type AuditEvent, type AuditList, listAuditEvents } from '@mayfly/contract/admin';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { table } from '../output.ts';
import { addAdminCommand } from './admin-command.ts';

interface AuditOptions {
  readonly email?: string;
  readonly target?: string;
  readonly since?: string;
  readonly limit?: string;
}

/** `mayfly admin audit` */
export function addAudit(admin: Command, io: CliIo): void {
  addAdminCommand<AuditOptions, AuditList>(admin, io, {
    name: 'audit',
    summary: 'show who changed what, newest first',
    options: (command) =>
      command
        .option('--email <address>', 'show only what this account did and what was done to it')
        .option('--target <id>', 'show only what was done to this sandbox (sbx_…), key (key_…) or e-mail address')
        .option('--since <time>', 'show only events since this date or date-time, e.g. 2026-01-02T03:04:05Z')
        .option('--limit <n>', 'maximum number of events (default: 100)'),
    act: (client, { email, target, since, limit }) =>
      client.call(listAuditEvents, { query: { email, target, since, limit } }),
    show: ({ data }) =>
      table(
        ['TIME', 'ACCOUNT', 'ACTOR', 'SOURCE', 'ACTION', 'TARGET', 'RESULT', 'DETAILS'],
        data.map((event) => [
          event.at,
          event.email ?? event.account_id ?? '-',
          actorOf(event),
          event.source_address ?? '-',
          event.action,
          event.target ?? '-',
          resultOf(event),
          event.details ?? '',
        ]),
      ),
  });
}

/** A key, a session, an operator, or somebody who was not signed in. */
function actorOf({ key_id, session_id, operator }: AuditEvent): string {
  if (operator !== null) return `operator ${operator}`;
  return key_id ?? session_id ?? 'not signed in';
}

function resultOf({ status, error_type }: AuditEvent): string {
  if (status === null) return 'unknown';
  return error_type === null ? String(status) : `${status} ${error_type}`;
}
