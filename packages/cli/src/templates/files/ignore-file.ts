/** Whether a path, relative to the recipe's folder, is left out of copies. */
export type IsIgnored = (path: string) => boolean;

/** Reads a `.dockerignore`: one pattern per line, `!` includes again, the last match decides. */
export function parseIgnoreFile(source: string): IsIgnored {
  const rules = source
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const include = line.startsWith('!');
      const pattern = (include ? line.slice(1).trim() : line).replace(/^\.?\/+/, '').replace(/\/+$/, '');
      // A pattern that matches a folder matches everything in it.
      return { include, matcher: new RegExp(`^${patternSource(pattern)}(?:/|$)`, 's') };
    });
  return (path) => {
    let ignored = false;
    for (const { include, matcher } of rules) if (matcher.test(path)) ignored = !include;
    return ignored;
  };
}

/** The regular expression of a pattern as Docker reads it: `*`, `?`, `[a-z]`, `**` and escapes. */
export function patternSource(pattern: string): string {
  return pattern.replaceAll(
    /\*\*\/|\*\*|\*|\?|\[(\^?)((?:\\.|[^\]\\])+)\]|\\(.)|([\s\S])/g,
    (token: string, negated?: string, set?: string, escaped?: string, literal?: string) => {
      if (token === '**/') return '(?:.*/)?';
      if (token === '**') return '.*';
      if (token === '*') return '[^/]*';
      if (token === '?') return '[^/]';
      if (set !== undefined) return `[${negated ?? ''}${set.replaceAll('[', '\\[')}]`;
      return (escaped ?? literal ?? '').replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&');
    },
  );
}
