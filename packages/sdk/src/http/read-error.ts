import { ApiError } from '../api/api-error.ts';
import { type ErrorType, errorTable } from '../api/error-classes.ts';
import { UnexpectedResponseError } from '../errors.ts';

/** The error that a response reports. */
export async function errorOf(response: Response): Promise<ApiError | UnexpectedResponseError> {
  const text = await response.text().catch(() => '');
  const { type, message, requestId } = fieldsOf(text);
  if (type === undefined || message === undefined) {
    const location = response.headers.get('location');
    const advice = location === null ? 'Check the base URL.' : `It redirects to ${location}: use that as the base URL.`;
    return new UnexpectedResponseError(
      `The response with status ${response.status} is not one of Mayfly. ${advice}`,
      response.status,
    );
  }
  const known = Object.hasOwn(errorTable, type) ? errorTable[type as ErrorType] : undefined;
  const details = {
    type,
    message,
    status: response.status,
    requestId: requestId ?? response.headers.get('x-request-id') ?? 'unknown',
    hint: known?.hint ?? '',
    retryAfterMs: retryAfterMsOf(response.headers.get('retry-after')),
  };
  return known === undefined ? new ApiError(details) : new known.error(details);
}

interface ErrorFields {
  readonly type?: string | undefined;
  readonly message?: string | undefined;
  readonly requestId?: string | undefined;
}

function fieldsOf(text: string): ErrorFields {
  let body: { error?: { type?: unknown; message?: unknown }; request_id?: unknown } | null;
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    return {};
  }
  const textOr = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    type: textOr(body?.error?.type),
    message: textOr(body?.error?.message),
    requestId: textOr(body?.request_id),
  };
}

const longestWaitMs = 3_600_000;

/** Seconds, or a date. */
function retryAfterMsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds * 1000, 0), longestWaitMs) : undefined;
}
