/** A parsed write request with its file content taken out. */
export interface WriteFileParts {
  /** The body with a placeholder for `content`, which validates the same way and costs nothing to validate. */
  readonly body: unknown;
  /** The bytes to write; undefined if the body has no valid content. */
  readonly content: Buffer | undefined;
}

const validPlaceholder = '';
/** Neither base64 nor Unicode, so validation refuses them. */
const invalidPlaceholders = { base64: '=', utf8: '\ud800' };

/** Takes the content out of a parsed write request and decodes it. Changes `body`. */
export function takeContent(body: unknown): WriteFileParts {
  if (!isObject(body) || typeof body.content !== 'string') return { body, content: undefined };
  const isBase64 = body.encoding === 'base64';
  const content = isBase64 ? decodeBase64(body.content) : encodeUtf8(body.content);
  const invalid = isBase64 ? invalidPlaceholders.base64 : invalidPlaceholders.utf8;
  body.content = content === undefined ? invalid : validPlaceholder;
  return { body, content };
}

/** Undefined for a text with half a surrogate pair, which has no encoding. */
function encodeUtf8(text: string): Buffer | undefined {
  return text.isWellFormed() ? Buffer.from(text) : undefined;
}

function isObject(value: unknown): value is { encoding?: unknown; content?: unknown } {
  return typeof value === 'object' && value !== null;
}

/**
 * Decodes strict base64: standard alphabet, padding required, no white space; undefined for anything else. Node skips invalid
 * characters, so the decoded length reveals them. A regular expression over 8 MiB takes five times as long as this.
 */
export function decodeBase64(text: string): Buffer | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const firstPadding = text.indexOf('=');
  if (firstPadding !== -1 && firstPadding < text.length - padding) return undefined;
  // Node also accepts base64url.
  if (text.includes('-') || text.includes('_')) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === (text.length / 4) * 3 - padding ? bytes : undefined;
}
