/** Counts of answers by operation and status. */
export class Statistics {
  readonly #counts = new Map<string, Map<string, number>>();
  slowestMs = 0;
  slowest = '';

  count(operation: string, outcome: string, tookMs: number): void {
    const ofOperation = this.#counts.get(operation) ?? new Map<string, number>();
    this.#counts.set(operation, ofOperation);
    ofOperation.set(outcome, (ofOperation.get(outcome) ?? 0) + 1);
    if (tookMs <= this.slowestMs) return;
    this.slowestMs = tookMs;
    this.slowest = operation;
  }

  /** A line per operation. */
  toString(): string {
    const rows = [...this.#counts].sort(([a], [b]) => a.localeCompare(b));
    const lines = rows.map(([operation, outcomes]) => {
      const total = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
      const parts = [...outcomes]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([outcome, count]) => `${outcome} ${count}`);
      return `  ${operation.padEnd(16)} ${String(total).padStart(5)}: ${parts.join(', ')}`;
    });
    return [...lines, `  slowest: ${this.slowest}, ${Math.round(this.slowestMs)} ms`].join('\n');
  }
}
