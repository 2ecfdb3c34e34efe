import { z } from 'zod';

/** The specification's retry categories. */
export type RetryCategory = 'never' | 'after_freeing' | 'with_backoff';

export interface ErrorEntry {
  /** HTTP statuses, the most common one first. */
  readonly statuses: readonly [number, ...number[]];
  readonly cause: string;
  readonly retry: RetryCategory;
  /** The category of statuses that have another one. */
  readonly retryByStatus?: Readonly<Record<number, RetryCategory>>;
  /** What the caller can do about it. */
  readonly hint: string;
  /** One example message per status, in the order of `statuses`. */
  readonly examples: readonly [string, ...string[]];
}

/** Every error type that the API can return. */
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
    cause: 'The request has no Bearer token.',
    retry: 'never',
    hint: 'Send the header "Authorization: Bearer <API_KEY>".',
    examples: ['Missing API key. Send the header "Authorization: Bearer <API_KEY>".'],
  },
  invalid_api_key: {
    statuses: [401],
    cause:
      'The API key is unknown or has been revoked, or the ticket is unknown, has expired or was used already. The message says which.',
    retry: 'never',
    hint: 'Use an active API key, or another ticket.',
    examples: ['This API key has been revoked.'],
  },
  account_suspended: {
    statuses: [403],
    cause: 'The account is suspended.',
    retry: 'never',
    hint: 'Contact the operator of this service.',
    examples: ['This account is suspended. Contact the operator.'],
  },
  insufficient_credits: {
    statuses: [402],
    cause:
      'Create: the balance is below the minimum to start a sandbox. Exec and snapshots: the balance has reached zero.',
    retry: 'after_freeing',
    hint: 'Add credit, then retry.',
    examples: ['The balance is too low to start a sandbox. At least 0.004167 USD is required.'],
  },
  not_found: {
    statuses: [404],
    cause: 'The account has no such resource, the sandbox is already deleted, or the path does not exist.',
    retry: 'never',
    hint: 'Check the id and the path.',
    examples: ['No such sandbox.'],
  },
  sandbox_not_running: {
    statuses: [409],
    cause: 'The operation needs a running sandbox. The message names the actual status.',
    retry: 'never',
    hint: 'Create a new sandbox.',
    examples: [
      'Sandbox sbx_4w5pz2hq7m3kx6tn2ab7cdfe is not running (status: failed, machine_died: killed by SIGKILL). Create a new one.',
    ],
  },
  execution_not_running: {
    statuses: [409],
    cause: 'The operation needs a running command, or one whose standard input is open. The message says which.',
    retry: 'never',
    hint: 'Get the execution to see how it ended.',
    examples: ['Execution exec_q2m7rk4t5x3vb6ynz7pahcdw has ended (status: completed).'],
  },
  rate_limit_exceeded: {
    statuses: [429],
    cause:
      'Too many requests or sandbox creations in the current one-minute window, too many commands, streams, terminals, unused tickets, large requests or unread large responses of the account at once, or too much input for a command that does not read it.',
    retry: 'with_backoff',
    hint: 'Wait for the number of seconds in Retry-After.',
    examples: [
      'Rate limit exceeded: 120 requests per minute for an account. Wait for the number of seconds in Retry-After.',
    ],
  },
  quota_exceeded: {
    statuses: [429],
    cause: 'The account has reached its limit of concurrent sandboxes, of snapshots, or of disk space for snapshots.',
    retry: 'after_freeing',
    hint: 'Delete a sandbox or a snapshot, then retry.',
    examples: ['This account is limited to 20 sandboxes at the same time. Delete one first.'],
  },
  execution_failed: {
    statuses: [502],
    cause: 'The command was not delivered, or the connection to the sandbox dropped. It may or may not have run.',
    retry: 'with_backoff',
    hint: 'Retry only if the command is idempotent.',
    examples: ['The command may or may not have run: the connection was lost.'],
  },
  provisioning_failed: {
    statuses: [503],
    cause: 'The sandbox could not be provisioned, or the snapshot could not be taken. The message says why.',
    retry: 'with_backoff',
    hint: 'Retry after a pause, ideally with a fresh Idempotency-Key.',
    examples: ['The sandbox could not be provisioned: the machine did not start. Try again.'],
  },
  capacity_unavailable: {
    statuses: [503],
    cause: 'The service is at machine capacity, or the host has too little free disk for a snapshot.',
    retry: 'with_backoff',
    hint: 'Retry with exponential backoff.',
    examples: ['The service is at machine capacity. Try again later.'],
  },
  internal_error: {
    statuses: [500],
    cause: 'An unexpected failure in the service.',
    retry: 'with_backoff',
    hint: 'Retry with backoff. If it persists, send the request id to the operator.',
    examples: [
      'The service failed unexpectedly. Retry with backoff. If it keeps failing, give the request id to the operator.',
    ],
  },
  write_failed: {
    statuses: [400],
    cause: 'The file could not be written. Nothing was written.',
    retry: 'never',
    hint: 'Check the path, its permissions and the free disk space.',
    examples: ['/etc/motd could not be written: permission denied.'],
  },
  read_failed: {
    statuses: [400],
    cause: 'The file exists but cannot be read.',
    retry: 'never',
    hint: 'Check the permissions of the file and the requested encoding.',
    examples: ['/root/notes could not be read: permission denied.'],
  },
  list_failed: {
    statuses: [400],
    cause: 'The directory cannot be listed.',
    retry: 'never',
    hint: 'Check that the path is a directory and that the sandbox user may read it.',
    examples: ['/workspace/notes.txt could not be listed: not a directory.'],
  },
  file_too_large: {
    statuses: [413],
    cause: 'The file to read or write exceeds the file size limit.',
    retry: 'never',
    hint: 'Transfer the file in parts.',
    examples: ['/workspace/video.mp4 could not be read: it exceeds the limit of 8 MiB.'],
  },
  request_error: {
    statuses: [400, 413, 414, 431, 408],
    cause:
      'The request was rejected before it was processed: malformed JSON, oversized body, invalid URL or headers, or it arrived too slowly (408).',
    retry: 'never',
    retryByStatus: { 408: 'with_backoff' },
    hint: 'Fix the request. After a 408, send it again.',
    examples: [
      'The body is not valid JSON. Send a JSON object encoded as UTF-8.',
      'The body is larger than the limit of 1048576 bytes.',
      'The URL is too long.',
      'The URL and headers are larger than 16384 bytes. Send fewer or shorter headers.',
      'The request did not arrive in time. Send it again.',
    ],
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>;

export type ErrorType = keyof typeof errorTable;

/** All error types, in the order of the table. */
export const errorTypes = Object.keys(errorTable) as readonly ErrorType[];

/** What a client should do, per retry category. */
export const retryCategories: Readonly<Record<RetryCategory, string>> = {
  never: 'The same request will fail again. Fix the caller.',
  after_freeing: 'Delete a sandbox or add credit, then retry.',
  with_backoff: 'Retry with exponential backoff and jitter. Honour `Retry-After` when it is present.',
};

/** The body of every error response. */
export const errorBodySchema = z
  .object({
    error: z.object({
      type: z
        .enum(errorTypes as [ErrorType, ...ErrorType[]])
        .meta({ description: 'Stable, machine-readable code. Branch on this field.', examples: ['not_found'] }),
      message: z
        .string()
        .meta({ description: 'Human-readable. The wording may change.', examples: ['No such sandbox.'] }),
    }),
    request_id: z.string().meta({
      description: 'The request id in the service logs, also sent as the `X-Request-Id` header.',
      examples: ['req_5f0c9a4be1d27386c4a90b12'],
    }),
  })
  .meta({ id: 'Error', description: 'The body of every error response.' });

export type ErrorBody = z.infer<typeof errorBodySchema>;

/** Joins validation issues into one message that lists every failing rule once, as the specification requires. */
export function describeFailedRules(issues: readonly { readonly message: string }[]): string {
  return [...new Set(issues.map((issue) => issue.message))].join('; ');
}
