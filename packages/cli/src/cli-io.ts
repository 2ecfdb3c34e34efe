import type { Readable } from 'node:stream';

/** What a command reads and writes. `process` implements it. */
export interface CliIo {
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Only the result. On a terminal, a command may rewrite the last line. */
  readonly stdout: {
    write(text: string | Uint8Array): unknown;
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
  };
  /** Notices, progress, questions and errors. */
  readonly stderr: { write(text: string | Uint8Array): unknown; readonly isTTY?: boolean; readonly columns?: number };
  readonly stdin?: Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  /** The time that ages are counted to; by default the time of this machine. */
  readonly nowMs?: () => number;
}

/** Interrupted by SIGINT, SIGTERM or SIGHUP. */
export type InterruptedCode = 130 | 143 | 129;

/** 1 failure, 2 invalid command line or recipe, 3 error of the API, 125 `run`, `exec` or `shell` itself failed, or interrupted. */
export type ExitCode = 1 | 2 | 3 | 125 | InterruptedCode;

export interface FailureOptions extends ErrorOptions {
  /** 1 unless given. */
  readonly exitCode?: ExitCode;
  /** The code of the error for programs. One that follows from the exit code unless given. */
  readonly type?: string | undefined;
  /** Whether the result, which is printed already, tells of it too. */
  readonly isInResult?: boolean;
}

/** An error that is shown to the operator as one message, without a stack trace. */
export class Failure extends Error {
  readonly exitCode: ExitCode;
  readonly type: string | undefined;
  readonly isInResult: boolean;

  constructor(message: string, { exitCode = 1, type, isInResult = false, ...options }: FailureOptions = {}) {
    super(message, options);
    this.name = 'Failure';
    this.exitCode = exitCode;
    this.type = type;
    this.isInResult = isInResult;
  }
}

/** An invalid command line; exit code 2. */
export function usageFailure(message: string): Failure {
  return new Failure(message, { exitCode: 2 });
}

/** Ends the program with the exit code of a command in a sandbox, without a message. */
export class CommandExit extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`The command exited with ${exitCode}.`);
    this.name = 'CommandExit';
    this.exitCode = exitCode;
  }
}
