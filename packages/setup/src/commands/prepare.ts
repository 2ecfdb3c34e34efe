import type { Prepared } from '../prepare.ts';

/** Prints where the artifacts are, as JSON for scripts. */
export async function printArtifacts({ artifacts }: Prepared): Promise<number> {
  process.stdout.write(`${JSON.stringify(artifacts, null, 2)}\n`);
  return await Promise.resolve(0);
}
