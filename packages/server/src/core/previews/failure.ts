/** Why a preview cannot be served. */
export type PreviewFailureKind =
  /** No preview has this token: never opened, closed, or its sandbox was stopped. */
  | 'unknown'
  /** Nothing listens on the port in the sandbox. */
  | 'nothing_listening'
  /** The machine died, or its agent does not answer. */
  | 'unreachable'
  /** The sandbox has as many open connections as it may have. */
  | 'busy';

/** A preview that cannot be served, with a sentence for the visitor. */
export class PreviewFailure extends Error {
  readonly kind: PreviewFailureKind;

  constructor(kind: PreviewFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PreviewFailure';
    this.kind = kind;
  }
}
