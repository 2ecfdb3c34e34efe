/** Who did something: a caller with an API key, a person in the dashboard, or an operator through the admin socket. */
export type AuditActor =
  | { readonly kind: 'api_key'; readonly keyId: string; readonly sourceAddress: string }
  /** The session is null if an attempt to sign in failed. */
  | { readonly kind: 'session'; readonly sessionId: string | null; readonly sourceAddress: string }
  /** The name is what the operator's command reports; only root can reach the socket. */
  | { readonly kind: 'operator'; readonly name: string };

/** How it ended: an HTTP status, and the type of the error if it failed. */
export interface AuditResult {
  readonly status: number;
  readonly errorType: string | null;
}

/** One change that somebody made or tried to make. */
export interface AuditEvent {
  readonly id: string;
  readonly atMs: number;
  readonly actor: AuditActor;
  /** The account that acted, or that an operator acted on. */
  readonly accountId: string | null;
  /** The operation, e.g. `createSandbox` or `accounts.suspend`. */
  readonly action: string;
  /** What it was done to, e.g. the id of a sandbox or key. */
  readonly target: string | null;
  /** What an operator's command was given, as JSON, e.g. the credit. Of other calls, null. */
  readonly details: string | null;
  /** Of a call over HTTP: its id in the service's log. */
  readonly requestId: string | null;
  /** Null if the service died before the result was recorded. */
  readonly result: AuditResult | null;
}

export interface AuditFilter {
  /** Only events of this account, and those whose target is its e-mail address. */
  readonly account?: { readonly id: string; readonly email: string } | undefined;
  readonly target?: string | undefined;
  /** Only events at or after this time. */
  readonly sinceMs?: number | undefined;
  readonly limit: number;
}

/** The audit trail. Events are removed only by retention. */
export interface AuditStore {
  append(events: readonly AuditEvent[]): Promise<void>;
  /** Records the result of an event that was appended without one. */
  finish(id: string, result: AuditResult): Promise<void>;
  /** Newest first. */
  list(filter: AuditFilter): Promise<readonly AuditEvent[]>;
}
