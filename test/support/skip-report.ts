import type { Reporter, TestModule } from 'vitest/node';

/** Prints at the end how many tests were skipped, by reason. */
export class SkipReport implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const test of modules.flatMap((module) => [...module.children.allTests('skipped')])) {
      const result = test.result();
      const reason = (result.state === 'skipped' && result.note) || 'no reason given';
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    for (const [reason, count] of counts) process.stdout.write(`  skipped ${count}: ${reason}\n`);
  }
}
