import type { Selectable } from 'kysely';
import type {
  AuditActor,
  AuditEvent,
  AuditFilter,
  AuditResult,
  AuditStore,
} from '../../core/ports/store/audit-store.ts';
import type { AuditEventsTable } from '../schema.ts';
import type { Database } from './database.ts';

/** The audit trail in SQL. */
export class SqlAudit implements AuditStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    if (events.length === 0) return;
    // An event whose first write was stored but not confirmed is written again by the next try.
    await this.#database.run('audit.append', (db) =>
      db
        .insertInto('audit_events')
        .values(events.map(rowOf))
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute(),
    );
  }

  async finish(id: string, { status, errorType }: AuditResult): Promise<void> {
    await this.#database.run('audit.finish', (db) =>
      db.updateTable('audit_events').set({ status, error_type: errorType }).where('id', '=', id).execute(),
    );
  }

  async list({ account, target, sinceMs, limit }: AuditFilter): Promise<readonly AuditEvent[]> {
    const rows = await this.#database.run('audit.list', (db) => {
      let query = db.selectFrom('audit_events').selectAll();
      if (account !== undefined) {
        query = query.where((row) => row.or([row('account_id', '=', account.id), row('target', '=', account.email)]));
      }
      if (target !== undefined) query = query.where('target', '=', target);
      if (sinceMs !== undefined) query = query.where('at_ms', '>=', sinceMs);
      return query.orderBy('at_ms', 'desc').orderBy('id', 'desc').limit(limit).execute();
    });
    return rows.map(eventOf);
  }
}

function rowOf({ actor, result, ...event }: AuditEvent): AuditEventsTable {
  return {
    id: event.id,
    at_ms: event.atMs,
    key_id: actor.kind === 'api_key' ? actor.keyId : null,
    session_id: actor.kind === 'session' ? actor.sessionId : null,
    source_address: actor.kind === 'operator' ? null : actor.sourceAddress,
    operator: actor.kind === 'operator' ? actor.name : null,
    account_id: event.accountId,
    action: event.action,
    target: event.target,
    details: event.details,
    request_id: event.requestId,
    status: result?.status ?? null,
    error_type: result?.errorType ?? null,
  };
}

function eventOf(row: Selectable<AuditEventsTable>): AuditEvent {
  return {
    id: row.id,
    atMs: row.at_ms,
    actor: actorOf(row),
    accountId: row.account_id,
    action: row.action,
    target: row.target,
    details: row.details,
    requestId: row.request_id,
    result: row.status === null ? null : { status: row.status, errorType: row.error_type },
  };
}

function actorOf({ key_id: keyId, session_id, source_address, operator }: Selectable<AuditEventsTable>): AuditActor {
  if (operator !== null) return { kind: 'operator', name: operator };
  const sourceAddress = source_address ?? '';
  if (keyId !== null) return { kind: 'api_key', keyId, sourceAddress };
  return { kind: 'session', sessionId: session_id, sourceAddress };
}
