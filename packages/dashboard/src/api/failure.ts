import type { DashboardErrorType } from '@mayfly/contract/dashboard';

/** What went wrong: an error type of the service, or one of this side of the connection. */
export type FailureType = DashboardErrorType | 'connection_lost' | 'timed_out' | 'unreadable_answer';

interface FailureDetails {
  /** Absent if there was no answer. */
  readonly status?: number;
  /** The operator finds the request in the log by it. */
  readonly requestId?: string;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** A request that did not succeed. Its message is for the person who made it. */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure';
  readonly type: FailureType;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(type: FailureType, message: string, details: FailureDetails = {}) {
    super(message, { cause: details.cause });
    this.type = type;
    this.status = details.status;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }

  /** Whether no answer of the service arrived: the network or the service is down. */
  get isConnection(): boolean {
    return this.type === 'connection_lost' || this.type === 'timed_out' || isUnavailable(this.status, this.type);
  }
}

/** What a proxy answers for a service that is down. */
function isUnavailable(status: number | undefined, type: FailureType): boolean {
  return type === 'unreadable_answer' && status !== undefined && status >= 502 && status <= 504;
}

/** Whether an error says that one has to sign in. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof RequestFailure && error.type === 'unauthorized';
}

/** Returns the failure that an answer which is not a success stands for. `body` is undefined if it is not JSON. */
export function failureOf(status: number, headers: Headers, body: unknown): RequestFailure {
  const requestId = stringIn(body, 'request_id') ?? headers.get('x-request-id') ?? undefined;
  const retryAfterSeconds = readSeconds(headers.get('retry-after'));
  const details = {
    status,
    ...(requestId !== undefined && { requestId }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
  const error = fieldOf(body, 'error');
  const type = stringIn(error, 'type') as FailureType | undefined;
  const message = stringIn(error, 'message');
  if (type === undefined || message === undefined) {
    return new RequestFailure(
      'unreadable_answer',
      `The service did not answer properly (status ${status}). Try again.`,
      details,
    );
  }
  return new RequestFailure(type, messageFor(type, message, retryAfterSeconds), details);
}

/** The service's own message, except where it speaks to programs. */
function messageFor(type: FailureType, message: string, retryAfterSeconds: number | undefined): string {
  if (type === 'unauthorized') return 'Your session has ended. Sign in again.';
  if (type !== 'rate_limit_exceeded' || retryAfterSeconds === undefined) return message;
  return `Too many attempts. Try again in ${describeWait(retryAfterSeconds)}.`;
}

/** "20 seconds", "15 minutes". */
export function describeWait(seconds: number): string {
  const [count, unit] = seconds < 100 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

function readSeconds(header: string | null): number | undefined {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function stringIn(value: unknown, name: string): string | undefined {
  const field = fieldOf(value, name);
  return typeof field === 'string' ? field : undefined;
}
