/** What a client does about an error, as the specification groups them. */
export type RetryCategory = 'never' | 'after_freeing' | 'with_backoff';

export interface ErrorEntry {
  /** The HTTP statuses it comes with; the first is the usual one. */
  readonly statuses: readonly [number, ...number[]];
  readonly cause: string;
  readonly retry: RetryCategory;
  /** What the caller can do about it. */
  readonly hint: string;
  /** A message as a caller may see it, for each of the statuses in their order. */
  readonly examples: readonly [string, ...string[]];
}

/** Every error type there is. The service answers with no other. */
export const errorTable = {
  invalid_request: {
    statuses: [400],
    cause: 'A field failed validation. The message lists every failing rule.',
    retry: 'never',
    hint: 'Fix the request.',
    examples: ['size must be one of small, medium, large; timeout_minutes must be an integer from 1 to 1440'],
  },
  unauthorized: {
    statuses: [401],
    cause: 'No Bearer credentials.',
    retry: 'never',
    hint: 'Send the header "Authorization: Bearer <API_KEY>".',
    examples: ['send the header "Authorization: Bearer <API_KEY>"'],
  },
  invalid_api_key: {
    statuses: [401],
    cause: 'The key is unknown or was revoked.',
    retry: 'never',
    hint: 'Use an active key of the account.',
    examples: ['this key was revoked'],
  },
  account_suspended: {
    statuses: [403],
    cause: 'The account is suspended.',
    retry: 'never',
    hint: 'Ask the operator of this service.',
    examples: ['the account is suspended'],
  },
  insufficient_credits: {
    statuses: [402],
    cause: 'The balance is too low to start a sandbox, or has reached zero.',
    retry: 'after_freeing',
    hint: 'Add credit, then retry.',
    examples: ['the balance is too low to start a sandbox'],
  },
  not_found: {
    statuses: [404],
    cause: 'Nothing with that id or path for this account, or the sandbox is already deleted.',
    retry: 'never',
    hint: 'Check the id and the path.',
    examples: ['no such sandbox'],
  },
  sandbox_not_running: {
    statuses: [409],
    cause: 'The operation needs a running sandbox. The message names the actual status.',
    retry: 'never',
    hint: 'Create a new sandbox.',
    examples: ['the sandbox is failed, not running'],
  },
  rate_limit_exceeded: {
    statuses: [429],
    cause: 'Too many requests or creations in the current minute.',
    retry: 'with_backoff',
    hint: 'Wait for Retry-After seconds.',
    examples: ['more than 120 requests in this minute'],
  },
  quota_exceeded: {
    statuses: [429],
    cause: 'The account has as many sandboxes as it may have at once.',
    retry: 'after_freeing',
    hint: 'Delete a sandbox, then retry.',
    examples: ['20 sandboxes are already provisioning or running'],
  },
  execution_failed: {
    statuses: [502],
    cause: 'The command could not be delivered or the connection dropped; it may or may not have run.',
    retry: 'with_backoff',
    hint: 'Retry only if the command is idempotent.',
    examples: ['the connection to the sandbox dropped; the command may or may not have run'],
  },
  provisioning_failed: {
    statuses: [503],
    cause: 'The machine failed to start. It is cleaned up and not billed.',
    retry: 'with_backoff',
    hint: 'Retry after a pause, ideally with a fresh Idempotency-Key.',
    examples: ['the machine did not start; it is cleaned up and not billed'],
  },
  capacity_unavailable: {
    statuses: [503],
    cause: 'The service can take no more machines at the moment.',
    retry: 'with_backoff',
    hint: 'Retry with exponential backoff.',
    examples: ['the service can take no more machines at the moment'],
  },
  internal_error: {
    statuses: [500],
    cause: 'The service failed in a way it did not expect.',
    retry: 'with_backoff',
    hint: 'Retry with backoff; give the request id to the operator.',
    examples: ['the service failed; its operator finds the reason under the request id'],
  },
  write_failed: {
    statuses: [400],
    cause: 'The file could not be written. Nothing was written.',
    retry: 'never',
    hint: 'Check the path, its permissions and the free disk space.',
    examples: ['/etc/motd cannot be written: permission denied'],
  },
  read_failed: {
    statuses: [400],
    cause: 'The file exists but cannot be read.',
    retry: 'never',
    hint: 'Check the permissions and the encoding.',
    examples: ['/root/notes cannot be read: permission denied'],
  },
  list_failed: {
    statuses: [400],
    cause: 'The directory cannot be listed.',
    retry: 'never',
    hint: 'Check that the path is a directory the sandbox user may read.',
    examples: ['/workspace/notes.txt is not a directory'],
  },
  file_too_large: {
    statuses: [413],
    cause: 'The file is over the transfer limit, in either direction.',
    retry: 'never',
    hint: 'Transfer it in parts.',
    examples: ['the file is over the transfer limit'],
  },
  request_error: {
    statuses: [400, 413, 414, 431, 408],
    cause: 'The request was refused before any handler ran: malformed JSON, body too large, bad URL or headers.',
    retry: 'never',
    hint: 'Fix the request.',
    examples: [
      'the body is not valid JSON',
      'the body is too large',
      'the URL is too long',
      'the headers are too large',
      'the request did not arrive in time',
    ],
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>;

export type ErrorType = keyof typeof errorTable;

/** All error types, in the order of the table. */
export const errorTypes = Object.keys(errorTable) as readonly ErrorType[];
