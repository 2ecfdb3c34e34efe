import { formatBytes } from '@mayfly/contract';
import { type CommandResult, MayflyError } from '@mayfly/sdk';
import { type CliIo, CommandExit, Failure } from '../cli-io.ts';
import type { Interruption } from '../interruption.ts';
import { failureOf } from '../service/client.ts';

/** What `run`, `exec` and `shell` end with if they fail themselves, as opposed to the command in the sandbox. */
export const ownFailure = 125;

/** Ends the program with the exit code that the work returns. If the work itself fails, also for want of a key, with 125; an invalid command line stays 2. */
export async function exitWith(work: () => Promise<number>): Promise<void> {
  let exitCode: number;
  try {
    exitCode = await work();
  } catch (error) {
    const failure = failureOf(error, ownFailure);
    if (!(failure instanceof Failure)) throw failure;
    const { message, type, isInResult, cause = error } = failure;
    if (failure.exitCode === 2 && !(cause instanceof MayflyError)) throw failure;
    // The cause says what kind of error it is.
    throw new Failure(message, { cause, type, isInResult, exitCode: ownFailure });
  }
  if (exitCode !== 0) throw new CommandExit(exitCode);
}

/**
 * Returns the exit code of the program: the code of the signal that interrupted it, or the code of the command. Says on stderr what the code
 * does not. A command that succeeded, but whose output is incomplete, is a failure.
 */
export function concludeCommand(result: CommandResult, interruption: Interruption, { stderr }: CliIo): number {
  if (interruption.exitCode !== undefined) return interruption.exitCode;
  if (result.status === 'timeout') stderr.write('The command was killed: it reached its timeout.\n');
  if (result.oomKilled) stderr.write('The sandbox ran out of memory: a process of the command was killed.\n');
  if (result.missedBytes > 0) {
    stderr.write(
      `${formatBytes(result.missedBytes)} of the output are missing: it was printed faster than it was read here. Write it to a file in the sandbox and copy that with: mayfly cp\n`,
    );
  }
  return result.exitCode === 0 && result.missedBytes > 0 ? ownFailure : result.exitCode;
}
