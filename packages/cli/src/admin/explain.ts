import { Failure } from '../failure.ts';

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);

/** What an operator is told when the service could not be asked. */
export function explainNoAnswer(cause: unknown, dataDir: string, timeoutMs: number): Failure {
  const failure = (message: string) => new Failure(message, { cause });
  switch (codeOf(cause)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ECONNREFUSED':
      return failure(
        `no Mayfly service is running on the data folder ${dataDir}. Start one with npm start, or name the folder of the one that runs with --data-dir or MAYFLY_DATA_DIR.`,
      );
    case 'EACCES':
    case 'EPERM':
      return failure(
        `only root may administer the service on the data folder ${dataDir}. Try again with sudo (and --data-dir, as sudo may drop MAYFLY_DATA_DIR).`,
      );
    case 'ABORT_ERR':
      return failure(
        `the service on the data folder ${dataDir} did not answer within ${timeoutMs / 1000} seconds. What was asked may or may not have been done; its log says more.`,
      );
    default: {
      const reason = cause instanceof Error ? cause.message : String(cause);
      return failure(
        `the service on the data folder ${dataDir} gave no answer (${reason}). What was asked may or may not have been done; its log says more.`,
      );
    }
  }
}
