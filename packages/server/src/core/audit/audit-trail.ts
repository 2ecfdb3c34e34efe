import type { Clock, Ids, Log } from '../ports/runtime.ts';
import type { AuditEvent, AuditResult, AuditStore } from '../ports/store/audit-store.ts';

/** How long an event of an API call may wait to be written, and so the most that a crash can lose. */
export const maxDelayMs = 250;
/** Rows of one statement. */
const batchEvents = 500;
/** Events that wait while the database is unavailable; later ones are dropped and counted in the log. */
export const maxWaiting = 10_000;
/** Ids from URLs are as long as the caller likes. */
const maxTargetLength = 100;
const maxDetailsLength = 1_000;

/** An event before it is recorded. */
export type NewAuditEvent = Omit<AuditEvent, 'id' | 'atMs' | 'result'>;

/** The adapters that the trail needs. */
export interface AuditContext {
  readonly store: { readonly audit: AuditStore };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/**
 * Who did what, when, and with which result. An operator's command is recorded before it runs, so none goes unrecorded. Events of API
 * calls are written in batches in the background, because a write of its own would cost every call a commit.
 */
export class AuditTrail implements AsyncDisposable {
  readonly #context: AuditContext;
  #waiting: AuditEvent[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(context: AuditContext) {
    this.#context = context;
  }

  /** Records an API call that has ended. Does not wait. One that ends after the trail was closed is only logged. */
  note(event: NewAuditEvent, result: AuditResult): void {
    if (this.#isClosed) {
      this.#context.log.error({ events: 1, action: event.action, ...result }, 'audit_events_lost');
      return;
    }
    if (this.#waiting.length >= maxWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(this.#stamp(event, result));
    this.#timer ??= setTimeout(() => void this.flush(), maxDelayMs);
  }

  /** Records an operator's command before it runs, and its result afterwards. Rejects without running it if it cannot be recorded. */
  async recordCommand<Result>(
    event: NewAuditEvent,
    resultOf: (error: unknown) => AuditResult,
    run: () => Promise<Result>,
  ): Promise<Result> {
    const started = this.#stamp(event, null);
    await this.#context.store.audit.append([started]);
    try {
      const result = await run();
      await this.#finish(started, { status: 200, errorType: null });
      return result;
    } catch (error) {
      await this.#finish(started, resultOf(error));
      throw error;
    }
  }

  /** Writes what is waiting. Events that cannot be written wait for the next attempt. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#writeWaiting());
    return this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.flush();
    clearTimeout(this.#timer);
    if (this.#waiting.length > 0) this.#context.log.error({ events: this.#waiting.length }, 'audit_events_lost');
  }

  async #writeWaiting(): Promise<void> {
    const { store, log } = this.#context;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchEvents);
      try {
        await store.audit.append(batch);
      } catch (err) {
        log.error({ err, waiting: this.#waiting.length }, 'audit_write_failed');
        this.#timer ??= setTimeout(() => void this.flush(), 4 * maxDelayMs);
        return;
      }
      this.#waiting = this.#waiting.slice(batch.length);
    }
    if (this.#dropped > 0) log.error({ events: this.#dropped }, 'audit_events_lost');
    this.#dropped = 0;
  }

  async #finish({ id }: AuditEvent, result: AuditResult): Promise<void> {
    try {
      await this.#context.store.audit.finish(id, result);
    } catch (err) {
      this.#context.log.error({ err, audit_event_id: id, ...result }, 'audit_write_failed');
    }
  }

  #stamp(event: NewAuditEvent, result: AuditResult | null): AuditEvent {
    const target = cut(event.target, maxTargetLength);
    const details = cut(event.details, maxDetailsLength);
    return { ...event, target, details, result, id: this.#context.ids.next('aud'), atMs: this.#context.clock.nowMs() };
  }
}

function cut(text: string | null, maxLength: number): string | null {
  return text === null ? null : text.slice(0, maxLength).toWellFormed();
}
