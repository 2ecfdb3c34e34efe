/** A parsed write request with its file content taken out. */
export interface WriteFileParts {
  /** The body with a placeholder for `content`, which validates the same way and costs nothing to validate. */
  readonly body: unknown;
  /** The bytes to write; undefined if the body has no valid content. */
  readonly content: Buffer | undefined;
}

const validPlaceholder = '';
/** Not base64, so validation refuses it. */
const invalidPlaceholder = '=';

/** Takes the content out of a parsed write request and decodes it. Changes `body`. */
export function takeContent(body: unknown): WriteFileParts {
  if (!isObject(body) || typeof body.content !== 'string') return { body, content: undefined };
  const content = body.encoding === 'base64' ? decodeBase64(body.content) : Buffer.from(body.content);
  body.content = content === undefined ? invalidPlaceholder : validPlaceholder;
  return { body, content };
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
