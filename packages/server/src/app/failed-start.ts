import { cannotStartCode } from '../process/exit-codes.ts';
import { StartError } from './start-error.ts';

/** Tells the operator why the service cannot start and returns the exit code. A reason that the operator can remove is no reason to try again. */
export function reportFailedStart(error: unknown): number {
  if (error instanceof StartError) {
    process.stderr.write(`Mayfly cannot start. ${error.message}\n`);
    return cannotStartCode;
  }
  process.stderr.write(`Mayfly cannot start because of an unexpected error: ${describeError(error)}\n`);
  return 1;
}

export function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
