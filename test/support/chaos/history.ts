import type { ExecutionBody } from '../api-requests.ts';

/** A timestamped log of a chaos run, and counters. Printed when an audit finds a problem. */
export class Trace {
  readonly #startedAtMs = Date.now();
  readonly #lines: string[] = [];
  readonly #counts = new Map<string, number>();

  /** Appends a line with the time since the run started. */
  note(line: string): void {
    const atSeconds = ((Date.now() - this.#startedAtMs) / 1_000).toFixed(2);
    this.#lines.push(`+${atSeconds} ${line}`);
  }

  /** Increments the counter of a kind of event. */
  count(kind: string): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  /** All counters on one line, sorted by kind. */
  get counts(): string {
    const sorted = [...this.#counts].toSorted(([one], [other]) => one.localeCompare(other));
    return sorted.map(([kind, count]) => `${kind} ${count}`).join(', ');
  }

  countOf(kind: string): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** The last lines of the log. */
  tail(lineCount: number): string {
    return this.#lines.slice(-lineCount).join('\n');
  }
}

/** A command that a client sent. The command appends its token to a file in the sandbox when it runs. */
export interface SentCommand {
  readonly sandboxId: string;
  readonly token: string;
  /** The body of the 200 response; undefined if there was none. */
  readonly response: ExecutionBody | undefined;
}

/** A file that a client wrote, to a path that is used once. */
export interface SentFile {
  readonly sandboxId: string;
  readonly path: string;
  readonly content: string;
  /** Whether the service responded with 201. */
  readonly acknowledged: boolean;
}

/** Everything the service acknowledged to its clients. The audits compare it with the final state. */
export class Acknowledgements {
  /** Every sandbox id that a create returned, by idempotency key. The key is also the sandbox's name. */
  readonly creates = new Map<string, Set<string>>();
  readonly commands: SentCommand[] = [];
  readonly files: SentFile[] = [];
  /** The latest expiry that an extend returned, by sandbox. */
  readonly expiriesMs = new Map<string, number>();
  /** Sandboxes whose delete returned 200 or 202. */
  readonly deleted = new Set<string>();
  /** Sandboxes for which a delete was sent, whatever the response. */
  readonly deleteRequested = new Set<string>();
  /** Sandboxes that the service reported, with 404 or 409, as no longer running. */
  readonly reportedGone = new Set<string>();
  /** Broken promises that were detected during the run. */
  readonly problems: string[] = [];
}
