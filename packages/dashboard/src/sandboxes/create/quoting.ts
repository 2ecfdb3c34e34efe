/** Returns a text as one word of a POSIX shell, whatever is in it. */
export function quoteForShell(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a text as a literal of TypeScript in single quotes. */
export function quoteForTypeScript(text: string): string {
  // JSON escapes what a literal may not contain, control characters and halves of surrogate pairs included.
  const escaped = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll("'", "\\'")
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
  return `'${escaped}'`;
}
