/** What a command reads and writes. `process` implements it. */
export interface CliIo {
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** On a terminal, a command may rewrite the last line. */
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: { write(text: string): unknown };
}

/** 1 failure, 2 invalid command line or recipe, 3 error of the API, 130 interrupted. */
export type ExitCode = 1 | 2 | 3 | 130;

/** An error that is shown to the operator as one message, without a stack trace. */
export class Failure extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: ExitCode } = {}) {
    super(message, options);
    this.name = 'Failure';
    this.exitCode = options.exitCode ?? 1;
  }
}

/** An invalid command line; exit code 2. */
export function usageFailure(message: string): Failure {
  return new Failure(message, { exitCode: 2 });
}
