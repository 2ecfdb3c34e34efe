import type { Clock, Log } from '../ports/runtime.ts';
import type { AccountStore } from '../ports/store/account-store.ts';

/** A key's use is written at most this often. */
export const writtenEveryMs = 60_000;
/** Uses within this time are written by one statement. */
const collectMs = 1_000;
/** Keys of one statement. Uses of further keys are noted the next time. */
const maxKeys = 10_000;

interface KeyUsesContext {
  readonly accounts: AccountStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Records when keys were last used, in the background. */
export class KeyUses implements AsyncDisposable {
  readonly #context: KeyUsesContext;
  readonly #waiting = new Set<string>();
  /** When the use of a key was last written. */
  readonly #writtenAtMs = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(context: KeyUsesContext) {
    this.#context = context;
  }

  /** Notes a use now. Does not wait. */
  note(keyId: string): void {
    const writtenAtMs = this.#writtenAtMs.get(keyId);
    if (writtenAtMs !== undefined && this.#context.clock.nowMs() - writtenAtMs < writtenEveryMs) return;
    if (this.#waiting.size >= maxKeys) return;
    this.#waiting.add(keyId);
    this.#timer ??= setTimeout(() => void this.flush(), collectMs).unref();
  }

  /** Writes what is waiting. Never rejects: uses that cannot be written are noted again by the next use. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  async #write(): Promise<void> {
    const { accounts, clock, log } = this.#context;
    const nowMs = clock.nowMs();
    const keyIds = [...this.#waiting];
    this.#waiting.clear();
    for (const [keyId, writtenAtMs] of this.#writtenAtMs) {
      if (nowMs - writtenAtMs >= writtenEveryMs) this.#writtenAtMs.delete(keyId);
    }
    if (keyIds.length === 0) return;
    try {
      await accounts.noteKeyUses(keyIds, nowMs);
      for (const keyId of keyIds) this.#writtenAtMs.set(keyId, nowMs);
    } catch (err) {
      log.error({ err, keys: keyIds.length }, 'key_uses_write_failed');
    }
  }
}
