import { cannotStartCode, cannotStartYetCode } from '../process/exit-codes.ts';
import { StartError, TemporaryStartError } from './start-error.ts';

/**
 * Tells the operator why a process cannot start and returns its exit code. A reason that only the operator can remove is no reason to try again; one
 * that may pass by itself is.
 */
export function reportFailedStart(error: unknown): number {
  if (error instanceof TemporaryStartError) {
    process.stderr.write(`Mayfly cannot start yet. ${error.message}\n`);
    return cannotStartYetCode;
  }
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
