// Generated from the contract. To update it: npx vitest run --project unit packages/sdk/src/api -u

import { ApiError } from './api-error.ts';

/** A field failed validation. The message lists every failing rule. */
export class InvalidRequestError extends ApiError {
  declare readonly type: 'invalid_request';
}

/** The request has no Bearer token. */
export class UnauthorizedError extends ApiError {
  declare readonly type: 'unauthorized';
}

/** The API key is unknown or has been revoked, or the ticket is unknown, has expired or was used already. The message says which. */
export class InvalidApiKeyError extends ApiError {
  declare readonly type: 'invalid_api_key';
}

/** The account is suspended. */
export class AccountSuspendedError extends ApiError {
  declare readonly type: 'account_suspended';
}

/** Create: the balance is below the minimum to start a sandbox. Exec and snapshots: the balance has reached zero. */
export class InsufficientCreditsError extends ApiError {
  declare readonly type: 'insufficient_credits';
}

/** The account has no such resource, the sandbox is already deleted, or the path does not exist. */
export class NotFoundError extends ApiError {
  declare readonly type: 'not_found';
}

/** The operation needs a running sandbox. The message names the actual status. */
export class SandboxNotRunningError extends ApiError {
  declare readonly type: 'sandbox_not_running';
}

/** The operation needs a running command, or one whose standard input is open. The message says which. */
export class ExecutionNotRunningError extends ApiError {
  declare readonly type: 'execution_not_running';
}

/** Too many requests or sandbox creations in the current one-minute window, too many commands, streams, terminals, unused tickets, large requests or unread large responses of the account at once, or too much input for a command that does not read it. */
export class RateLimitExceededError extends ApiError {
  declare readonly type: 'rate_limit_exceeded';
}

/** The account has reached its limit of concurrent sandboxes, of snapshots, or of disk space for snapshots. */
export class QuotaExceededError extends ApiError {
  declare readonly type: 'quota_exceeded';
}

/** The command was not delivered, or the connection to the sandbox dropped. It may or may not have run. */
export class ExecutionFailedError extends ApiError {
  declare readonly type: 'execution_failed';
}

/** The sandbox could not be provisioned, or the snapshot could not be taken. The message says why. */
export class ProvisioningFailedError extends ApiError {
  declare readonly type: 'provisioning_failed';
}

/** The service is at machine capacity, or the host has too little free disk for a snapshot. */
export class CapacityUnavailableError extends ApiError {
  declare readonly type: 'capacity_unavailable';
}

/** An unexpected failure in the service. */
export class InternalError extends ApiError {
  declare readonly type: 'internal_error';
}

/** The file could not be written. Nothing was written. */
export class WriteFailedError extends ApiError {
  declare readonly type: 'write_failed';
}

/** The file exists but cannot be read. */
export class ReadFailedError extends ApiError {
  declare readonly type: 'read_failed';
}

/** The directory cannot be listed. */
export class ListFailedError extends ApiError {
  declare readonly type: 'list_failed';
}

/** The file to read or write exceeds the file size limit. */
export class FileTooLargeError extends ApiError {
  declare readonly type: 'file_too_large';
}

/** The request was rejected before it was processed: malformed JSON, oversized body, invalid URL or headers, or it arrived too slowly (408). */
export class RequestError extends ApiError {
  declare readonly type: 'request_error';
}

/** What the service recommends for each type of error. */
export const errorTable = {
  invalid_request: {
    error: InvalidRequestError,
    retry: 'never',
    hint: 'Fix the request.',
  },
  unauthorized: {
    error: UnauthorizedError,
    retry: 'never',
    hint: 'Send the header "Authorization: Bearer <API_KEY>".',
  },
  invalid_api_key: {
    error: InvalidApiKeyError,
    retry: 'never',
    hint: 'Use an active API key, or another ticket.',
  },
  account_suspended: {
    error: AccountSuspendedError,
    retry: 'never',
    hint: 'Contact the operator of this service.',
  },
  insufficient_credits: {
    error: InsufficientCreditsError,
    retry: 'after_freeing',
    hint: 'Add credit, then retry.',
  },
  not_found: {
    error: NotFoundError,
    retry: 'never',
    hint: 'Check the id and the path.',
  },
  sandbox_not_running: {
    error: SandboxNotRunningError,
    retry: 'never',
    hint: 'Create a new sandbox.',
  },
  execution_not_running: {
    error: ExecutionNotRunningError,
    retry: 'never',
    hint: 'Get the execution to see how it ended.',
  },
  rate_limit_exceeded: {
    error: RateLimitExceededError,
    retry: 'with_backoff',
    hint: 'Wait for the number of seconds in Retry-After.',
  },
  quota_exceeded: {
    error: QuotaExceededError,
    retry: 'after_freeing',
    hint: 'Delete a sandbox or a snapshot, then retry.',
  },
  execution_failed: {
    error: ExecutionFailedError,
    retry: 'with_backoff',
    hint: 'Retry only if the command is idempotent.',
  },
  provisioning_failed: {
    error: ProvisioningFailedError,
    retry: 'with_backoff',
    hint: 'Retry after a pause, ideally with a fresh Idempotency-Key.',
  },
  capacity_unavailable: {
    error: CapacityUnavailableError,
    retry: 'with_backoff',
    hint: 'Retry with exponential backoff.',
  },
  internal_error: {
    error: InternalError,
    retry: 'with_backoff',
    hint: 'Retry with backoff. If it persists, send the request id to the operator.',
  },
  write_failed: {
    error: WriteFailedError,
    retry: 'never',
    hint: 'Check the path, its permissions and the free disk space.',
  },
  read_failed: {
    error: ReadFailedError,
    retry: 'never',
    hint: 'Check the permissions of the file and the requested encoding.',
  },
  list_failed: {
    error: ListFailedError,
    retry: 'never',
    hint: 'Check that the path is a directory and that the sandbox user may read it.',
  },
  file_too_large: {
    error: FileTooLargeError,
    retry: 'never',
    hint: 'Transfer the file in parts.',
  },
  request_error: {
    error: RequestError,
    retry: 'never',
    retryByStatus: { 408: 'with_backoff' },
    hint: 'Fix the request. After a 408, send it again.',
  },
} as const;

/** The stable code of an error. */
export type ErrorType = keyof typeof errorTable;
