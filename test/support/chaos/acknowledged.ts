import type { ExecutionBody } from '../http.ts';

/** A command as a client sent it. Its token is written to a file of the sandbox once it runs. */
export interface SentCommand {
  readonly sandboxId: string;
  readonly token: string;
  /** The 200 that came back; undefined if none did. */
  readonly answer: ExecutionBody | undefined;
}

/** A file as a client sent it, to a path that nothing else is written to. */
export interface SentFile {
  readonly sandboxId: string;
  readonly path: string;
  readonly content: string;
  /** Whether a 201 came back. */
  readonly acknowledged: boolean;
}

/** What the service promised its clients, to be held against what it has in the end. */
export class Acknowledged {
  /** By idempotency key, which is also the sandbox's name: every id that a create answered with. */
  readonly creates = new Map<string, Set<string>>();
  readonly commands: SentCommand[] = [];
  readonly files: SentFile[] = [];
  /** The latest expiry that an extend answered with. */
  readonly expiriesMs = new Map<string, number>();
  /** Sandboxes whose delete was answered 200 or 202. */
  readonly deleted = new Set<string>();
  /** Sandboxes whose delete was asked for, whatever came back. */
  readonly deleteAsked = new Set<string>();
  /** Sandboxes of which a client was told, by 404 or 409, that they no longer run. */
  readonly toldGone = new Set<string>();
  /** Promises that were seen broken. */
  readonly problems: string[] = [];
}
