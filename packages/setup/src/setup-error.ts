/** A failure whose message is written for the operator; shown without a stack. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}
