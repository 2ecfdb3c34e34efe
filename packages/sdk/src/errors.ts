import { ApiError, MayflyError } from './api/api-error.ts';
import type { Execution, SandboxInfo } from './api/resources.ts';

/** There was no response, or the connection was lost before it was complete. */
export class ConnectionError extends MayflyError {
  /** Whether the service may have carried the request out. */
  readonly mayHaveHappened: boolean;
  /** The command whose output was being read. It goes on. */
  readonly executionId: string | undefined;

  constructor(message: string, options: ErrorOptions & { mayHaveHappened: boolean; executionId?: string | undefined }) {
    super(message, options);
    this.mayHaveHappened = options.mayHaveHappened;
    this.executionId = options.executionId;
  }
}

/** A response took longer than `requestTimeoutMs`. */
export class RequestTimeoutError extends ConnectionError {}

/** The response is not one of this API, for example because a proxy sent it. */
export class UnexpectedResponseError extends MayflyError {
  readonly status: number;

  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The sandbox has ended, so the operation is not possible any more. Says why and when. */
export class SandboxEndedError extends ApiError {
  readonly sandboxId: string;
  /** Why it ended. */
  readonly reason: EndReason;
  /** The reason in the words of the service, e.g. `machine_died: qemu was killed by SIGKILL`. */
  readonly statusReason: string | null;
  /** When it ended. Null if the service has not recorded it. */
  readonly endedAt: Date | null;

  /** `cause` is the refusal that the end explains, if there was one. */
  constructor(sandbox: SandboxInfo, cause?: ApiError) {
    const reason = endReasonOf(sandbox.statusReason);
    const { endedAt } = sandbox;
    const when = endedAt === null ? '' : ` at ${endedAt.toISOString()}`;
    const said = sandbox.statusReason === null ? '' : ` (${sandbox.statusReason})`;
    const { type, status, requestId, retryAfterMs } = cause ?? notRunning;
    const ending = sandbox.status === 'provisioning' ? 'is not running' : endings[reason];
    const hint = 'Create a new sandbox.';
    const message = `Sandbox ${sandbox.id} ${ending}${when}${said}. ${hint}`;
    super({ type, status, requestId, hint, retryAfterMs, message }, cause && { cause });
    this.sandboxId = sandbox.id;
    this.reason = reason;
    this.statusReason = sandbox.statusReason;
    this.endedAt = endedAt;
  }
}

/** What the service says to requests that need a running sandbox. */
const notRunning = { type: 'sandbox_not_running', status: 409, requestId: 'unknown', retryAfterMs: undefined } as const;

/** What ends sandboxes, and how a message says it. */
const endings = {
  expired: 'expired',
  deleted: 'was deleted',
  machine_died: 'failed because its machine died',
  evicted: 'was ended because the host ran out of memory or disk',
  service_stopped: 'was ended with the service',
  provisioning_failed: 'could not be provisioned',
  unknown: 'has ended',
} as const;

export type EndReason = keyof typeof endings;

function endReasonOf(statusReason: string | null): EndReason {
  const word = statusReason?.split(':')[0] ?? '';
  if (Object.hasOwn(endings, word)) return word as EndReason;
  return word.startsWith('deleted') ? 'deleted' : 'unknown';
}

/** A command failed, and its caller asked for an exception with `orThrow`. */
export class CommandFailedError extends MayflyError {
  readonly execution: Execution;

  constructor(execution: Execution) {
    const said = execution.stderr.trim().split('\n').at(-1) ?? '';
    const outcome = execution.status === 'timeout' ? 'timed out' : `exited with ${execution.exitCode}`;
    super(`The command ${outcome}${said === '' ? '.' : `: ${said.slice(0, 500)}`}`);
    this.execution = execution;
  }
}
