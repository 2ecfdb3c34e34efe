/** What happened when, in one line each; printed when something is wrong. */
export class Trace {
  readonly #beganAtMs = Date.now();
  readonly #lines: string[] = [];
  readonly #counts = new Map<string, number>();

  /** Notes a decision, and what came of it. */
  note(line: string): void {
    const atSeconds = ((Date.now() - this.#beganAtMs) / 1_000).toFixed(2);
    this.#lines.push(`+${atSeconds} ${line}`);
  }

  /** Counts one more of a kind. */
  count(kind: string): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  /** How often each kind was counted, in one line. */
  get counts(): string {
    const sorted = [...this.#counts].toSorted(([one], [other]) => one.localeCompare(other));
    return sorted.map(([kind, count]) => `${kind} ${count}`).join(', ');
  }

  countOf(kind: string): number {
    return this.#counts.get(kind) ?? 0;
  }

  /** The newest lines. */
  tail(most: number): string {
    return this.#lines.slice(-most).join('\n');
  }
}
