/** Why a command did not do what was asked, in one sentence, and the exit code that says so. */
export class Failure extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: 1 | 2 } = {}) {
    super(message, options);
    this.name = 'Failure';
    this.exitCode = options.exitCode ?? 1;
  }
}

/** A command line that cannot be meant as it is. */
export function usageFailure(message: string): Failure {
  return new Failure(message, { exitCode: 2 });
}
