import { type ErrorType, quoteForMessage } from '@mayfly/contract';
import { ApiError, oneLine } from '../errors/api-error.ts';
import { GuestRefusal, GuestUnreachable } from '../ports/guest-agent.ts';

export type FileTask = 'write' | 'read' | 'list' | 'delete';

/** A file operation that failed. */
interface FailedTask {
  readonly task: FileTask;
  /** Absolute. */
  readonly path: string;
  /** The largest file that can be read or written. */
  readonly fileBytes: number;
}

/** The error type for each code of the agent; `failed` for all other codes. */
const errorTypes: Readonly<Record<FileTask, { readonly failed: ErrorType } & Readonly<Record<string, ErrorType>>>> = {
  write: { failed: 'write_failed', too_large: 'file_too_large' },
  // A path below a file does not exist either, nor does one with a name that no file can have.
  read: {
    failed: 'read_failed',
    not_found: 'not_found',
    not_directory: 'not_found',
    name_too_long: 'not_found',
    too_large: 'file_too_large',
  },
  list: { failed: 'list_failed', not_found: 'not_found', name_too_long: 'not_found' },
  delete: {
    failed: 'write_failed',
    not_found: 'not_found',
    not_directory: 'not_found',
    is_directory: 'invalid_request',
    name_too_long: 'invalid_request',
    bad_request: 'invalid_request',
  },
};

/** The reason for each code of the agent; for all other codes the agent's own message is shown. */
const reasons: Readonly<Record<string, string>> = {
  not_found: 'no such file or directory',
  permission: 'permission denied',
  is_directory: 'it is a directory',
  not_regular: 'not a regular file',
  not_directory: 'not a directory',
  not_empty: 'directory not empty',
  no_space: 'the disk is full',
  read_only: 'the file system is read-only',
  name_too_long: 'the path or a name in it is too long',
  symlink_loop: 'too many levels of symbolic links',
};

const participles: Readonly<Record<FileTask, string>> = {
  write: 'written',
  read: 'read',
  list: 'listed',
  delete: 'deleted',
};

/** The error that the caller gets for a failed task. Returns what neither the agent nor its connection reported unchanged. */
export function fileFailure(error: unknown, failed: FailedTask): unknown {
  const { task, path } = failed;
  if (error instanceof GuestUnreachable) {
    const changes = task === 'write' || task === 'delete';
    const outcome = `${changes ? 'may or may not have been' : 'could not be'} ${participles[task]}`;
    const reason = oneLine(error).replace(/\.$/, '');
    return new ApiError('execution_failed', `${showPath(path)} ${outcome}: ${reason}.`, { cause: error });
  }
  if (!(error instanceof GuestRefusal)) return error;
  return cannot(errorTypes[task][error.code] ?? errorTypes[task].failed, failed, reasonFor(error, failed), error);
}

/** The error for a task that could not be carried out, e.g. `/etc/motd could not be written: permission denied.` */
export function cannot(
  type: ErrorType,
  { task, path }: Pick<FailedTask, 'task' | 'path'>,
  reason: string,
  cause?: Error,
): ApiError {
  return new ApiError(type, `${showPath(path)} could not be ${participles[task]}: ${reason}.`, { cause });
}

function reasonFor(error: GuestRefusal, { task, fileBytes }: FailedTask): string {
  if (error.code === 'too_large') return `it exceeds the limit of ${showBytes(fileBytes)}`;
  if (task === 'delete' && error.code === 'is_directory') {
    return `${reasons.is_directory}. Set recursive=true to delete it with its contents`;
  }
  // A semicolon separates the rules of a message, and the agent's quotes the request.
  return reasons[error.code] ?? oneLine(error).replace(/\.$/, '').replaceAll(';', ',');
}

const maxPathLength = 200;
const plainPath = /^[\w./+@~-]+$/;

/** A path for a message: on one line, quoted unless it is plain, only its end if it is long. */
function showPath(path: string): string {
  const shown = path.length > maxPathLength ? `…${path.slice(-maxPathLength)}` : path;
  return plainPath.test(shown) ? shown : quoteForMessage(shown, maxPathLength + 1);
}

function showBytes(bytes: number): string {
  const mib = bytes / 1_048_576;
  return Number.isInteger(mib) ? `${mib} MiB` : `${bytes} bytes`;
}
