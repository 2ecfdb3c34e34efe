const maxCharacters = 300;

/** What went wrong, as one line short enough for a record or a message. */
export function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > maxCharacters ? `${line.slice(0, maxCharacters).toWellFormed()}…` : line;
}
