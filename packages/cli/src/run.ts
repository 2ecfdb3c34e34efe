import { CommanderError } from 'commander';
import { Failure } from './failure.ts';
import { printable } from './output/printable.ts';
import { buildProgram } from './program.ts';
import type { Surroundings } from './surroundings.ts';

/** Runs one command line and gives its exit code: 0 done, 1 refused or failed, 2 not understood. */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<number> {
  try {
    await buildProgram(surroundings).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof Failure)) throw error;
    surroundings.stderr.write(`error: ${printable(error.message)}\n`);
    return error.exitCode;
  }
}
