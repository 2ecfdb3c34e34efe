/** Takes the body of one answer as it arrives. Either method may throw, which ends the call with that error. */
export interface Sink<T> {
  push(chunk: Buffer): void;
  /** The body is complete. */
  finish(): T;
}

/** The status and headers of an answer; header values are whatever the guest sent. */
export interface AnswerHead {
  readonly status: number;
  header(name: string): string | undefined;
}
