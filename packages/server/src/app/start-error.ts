import type { HostProblem } from '../machines/qemu/network/check-support.ts';

/** Why the service cannot start, for the operator: the message says what happened and what to do, and is shown without a stack. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}

/** A reason that may pass without the operator, e.g. a database that is being restarted. */
export class TemporaryStartError extends StartError {
  override readonly name = 'TemporaryStartError';
}

/** One message that lists everything the host lacks, each with its remedy. */
export function describeHostProblems(problems: readonly HostProblem[]): string {
  return [
    'This host cannot run virtual machines yet. Nothing was changed.',
    ...problems.map(({ what, remedy }) => `  • ${what}.\n    Remedy: ${remedy}`),
  ].join('\n');
}
