import { type ErrorType, errorTable } from '@mayfly/contract';

/** An error that the caller sees: a type of the error table and a message for people. */
export class ApiError extends Error {
  readonly type: ErrorType;
  readonly status: number;

  constructor(type: ErrorType, message: string, options: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.name = 'ApiError';
    this.type = type;
    this.status = options.status ?? errorTable[type].statuses[0];
  }
}

/** 404 for what does not exist, belongs to another account, or was deleted. */
export function notFound(what: string): ApiError {
  return new ApiError('not_found', `No such ${what}.`);
}

export function accountSuspended(): ApiError {
  return new ApiError('account_suspended', 'This account is suspended. Contact the operator.');
}

const maxLineLength = 300;

/** The message of an error as one line, short enough to be stored or to be part of another message. */
export function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > maxLineLength ? `${line.slice(0, maxLineLength).toWellFormed()}…` : line;
}
