import type { ErrorType } from '@mayfly/contract';
import { ApiError } from '../errors/api-error.ts';
import { oneLine } from '../errors/one-line.ts';
import { GuestRefusal, GuestUnreachable } from '../ports/guest-agent.ts';
import { showPath } from './show-path.ts';

export type FileTask = 'write' | 'read' | 'list' | 'delete';

/** What each refusal of the agent is to the caller; what is not named is the task's own failure. */
const refusals: Readonly<Record<FileTask, { readonly failed: ErrorType } & Readonly<Record<string, ErrorType>>>> = {
  write: { failed: 'write_failed', too_large: 'file_too_large' },
  // Below something that is no directory there is nothing, either.
  read: { failed: 'read_failed', not_found: 'not_found', not_directory: 'not_found', too_large: 'file_too_large' },
  list: { failed: 'list_failed', not_found: 'not_found' },
  delete: {
    failed: 'write_failed',
    not_found: 'not_found',
    not_directory: 'not_found',
    is_directory: 'invalid_request',
    name_too_long: 'invalid_request',
    bad_request: 'invalid_request',
  },
};

/** Why, in words; of other refusals the agent's own are shown. */
const reasons: Readonly<Record<string, string>> = {
  not_found: 'there is nothing at this path',
  permission: 'the sandbox user may not do that',
  is_directory: 'it is a directory',
  not_regular: 'it is not a regular file',
  not_directory: 'it, or something on the way to it, is not a directory',
  not_empty: 'the directory does not get empty',
  no_space: 'the disk is full',
  read_only: 'the file system is read-only',
  name_too_long: 'a name, or the path, is too long',
  symlink_loop: 'there are too many symbolic links on the way to it',
};

/** What the caller is told when a task did not succeed; anything but the agent's answers and silence is passed on as it is. */
export function fileFailure(error: unknown, task: FileTask, path: string): unknown {
  if (error instanceof GuestUnreachable) {
    const outcome = task === 'write' || task === 'delete' ? 'it may or may not have happened' : 'nothing was changed';
    return new ApiError('execution_failed', `cannot ${task} ${showPath(path)} (${outcome}): ${oneLine(error)}`, {
      cause: error,
    });
  }
  if (!(error instanceof GuestRefusal)) return error;
  const { failed, ...others } = refusals[task];
  const reason = hintOf(error, task) ?? reasons[error.code] ?? oneLine(error);
  return new ApiError(others[error.code] ?? failed, `cannot ${task} ${showPath(path)}: ${reason}`, { cause: error });
}

function hintOf({ code }: GuestRefusal, task: FileTask): string | undefined {
  return task === 'delete' && code === 'is_directory'
    ? 'it is a directory; set recursive=true to delete it'
    : undefined;
}
