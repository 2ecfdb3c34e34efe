/** What a process exits with when it cannot start and said why: EX_CONFIG of sysexits.h. The supervisor does not start it again, unless it ran before. */
export const cannotStartCode = 78;

/** What a process exits with when it cannot start yet and said why: EX_TEMPFAIL of sysexits.h. The supervisor starts it again. */
export const cannotStartYetCode = 75;

export interface StartFailureOptions {
  readonly cause?: unknown;
  /** The reason may pass without the operator, e.g. a database that is being restarted. */
  readonly mayPass?: boolean;
}

/** Why a process cannot start, for the operator: the message says what happened and what to do, and is shown without a stack. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
  readonly mayPass: boolean;

  constructor(message: string, { mayPass = false, ...options }: StartFailureOptions = {}) {
    super(message, options);
    this.mayPass = mayPass;
  }

  /** What the process exits with. */
  get exitCode(): number {
    return this.mayPass ? cannotStartYetCode : cannotStartCode;
  }
}

/** Tells the operator why a process cannot start. Returns its exit code. */
export function reportFailedStart(error: unknown): number {
  if (error instanceof StartFailure) {
    process.stderr.write(`Mayfly cannot start${error.mayPass ? ' yet' : ''}. ${error.message}\n`);
    return error.exitCode;
  }
  process.stderr.write(`Mayfly cannot start because of an unexpected error: ${describeError(error)}\n`);
  return 1;
}

/** The stack of an error, or whatever else was thrown as text. */
export function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
