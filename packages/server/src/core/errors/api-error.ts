import { type ErrorType, errorTable } from '@mayfly/contract';

/** A refusal that the caller sees: a type of the error table and a sentence for people. */
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

/** The answer for what does not exist, is somebody else's, or is gone. */
export function notFound(what: string): ApiError {
  return new ApiError('not_found', `no such ${what}`);
}
