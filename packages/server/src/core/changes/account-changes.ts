import type { SandboxRecord } from '../ports/store/sandbox-store.ts';

/** What has changed in an account since a reader was last told. */
export interface Changes {
  /** The sandboxes as they are now. Null if more changed than is kept for a reader: it has to read the list again. */
  readonly sandboxes: readonly SandboxRecord[] | null;
  readonly snapshots: boolean;
}

/** What is kept for a reader that is slower than the changes. */
const maxKept = 200;

/** Tells readers which records of an account change. It knows only the changes of this process, which is the only one that writes them. */
export class AccountChanges {
  readonly #readers = new Map<string, Set<Reader>>();

  sandboxChanged(sandbox: SandboxRecord): void {
    for (const reader of this.#readers.get(sandbox.accountId) ?? []) reader.keep(sandbox);
  }

  snapshotsChanged(accountId: string): void {
    for (const reader of this.#readers.get(accountId) ?? []) reader.keepSnapshots();
  }

  /** Returns the changes of an account from this call on, several together if the reader is slow, until the signal is aborted. */
  follow(accountId: string, signal: AbortSignal): AsyncGenerator<Changes, void> {
    const reader = new Reader();
    const readers = this.#readers.get(accountId) ?? new Set();
    this.#readers.set(accountId, readers.add(reader));
    const leave = () => {
      readers.delete(reader);
      if (readers.size === 0) this.#readers.delete(accountId);
      reader.end();
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    return reader.changes();
  }

  /** How many readers there are, of all accounts. */
  get readers(): number {
    return [...this.#readers.values()].reduce((sum, { size }) => sum + size, 0);
  }
}

class Reader {
  #sandboxes: Map<string, SandboxRecord> | null = new Map();
  #snapshots = false;
  #hasEnded = false;
  #wake = Promise.withResolvers<void>();

  keep(sandbox: SandboxRecord): void {
    this.#sandboxes?.set(sandbox.id, sandbox);
    if (this.#sandboxes !== null && this.#sandboxes.size > maxKept) this.#sandboxes = null;
    this.#wake.resolve();
  }

  keepSnapshots(): void {
    this.#snapshots = true;
    this.#wake.resolve();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake.resolve();
  }

  async *changes(): AsyncGenerator<Changes, void> {
    for (;;) {
      await this.#wake.promise;
      if (this.#hasEnded) return;
      const sandboxes = this.#sandboxes && [...this.#sandboxes.values()];
      const snapshots = this.#snapshots;
      this.#sandboxes = new Map();
      this.#snapshots = false;
      this.#wake = Promise.withResolvers();
      yield { sandboxes, snapshots };
    }
  }
}
