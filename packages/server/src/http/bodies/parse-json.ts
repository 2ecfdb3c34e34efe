import { ApiError } from '../../core/errors/api-error.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The value of a JSON text in UTF-8; undefined if there is nothing but white space. What is no JSON: 400. */
export function parseJson(...pieces: readonly Uint8Array[]): unknown {
  try {
    const text = pieces.map((piece) => utf8.decode(piece)).join('');
    return text.trim() === '' ? undefined : JSON.parse(text);
  } catch (cause) {
    throw notJson(cause);
  }
}

export function notJson(cause?: unknown): ApiError {
  return new ApiError('request_error', 'the body is not valid JSON', { cause });
}
