/** What a command reads and writes. `process` implements it. */
export interface CliIo {
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/** An error that is shown to the operator as one message, without a stack trace. */
export class Failure extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: 1 | 2 } = {}) {
    super(message, options);
    this.name = 'Failure';
    this.exitCode = options.exitCode ?? 1;
  }
}

/** An invalid command line; exit code 2. */
export function usageFailure(message: string): Failure {
  return new Failure(message, { exitCode: 2 });
}
