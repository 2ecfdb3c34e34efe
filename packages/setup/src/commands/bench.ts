import type { Prepared } from '../prepare.ts';
import { runInherited } from './run-inherited.ts';

/** Runs the benchmarks; their exit code is the result. */
export async function runBench(_prepared: Prepared, args: readonly string[]): Promise<number> {
  return await runInherited(process.execPath, ['bench/run.ts', ...args], { env: process.env });
}
