/** The base of all errors of this package. */
export class MayflyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** What a response with an error says. */
export interface ErrorDetails {
  /** The stable code to branch on. */
  readonly type: string;
  /** The HTTP status. */
  readonly status: number;
  /** The id of the request in the logs of the service. */
  readonly requestId: string;
  /** What to do about it. */
  readonly hint: string;
  /** What the service said. */
  readonly message: string;
  /** How long the service asks to wait before a retry. */
  readonly retryAfterMs?: number | undefined;
}

/** The service refused a request. There is a subclass for each type of error. */
export class ApiError extends MayflyError {
  readonly type: string;
  readonly status: number;
  readonly requestId: string;
  readonly hint: string;
  readonly retryAfterMs: number | undefined;

  constructor(details: ErrorDetails, options?: ErrorOptions) {
    super(`${details.message.replace(/\.?$/, '.')} (${details.type}, request ${details.requestId})`, options);
    this.type = details.type;
    this.status = details.status;
    this.requestId = details.requestId;
    this.hint = details.hint;
    this.retryAfterMs = details.retryAfterMs;
  }
}
