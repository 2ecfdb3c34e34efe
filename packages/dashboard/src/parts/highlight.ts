export interface Token {
  readonly kind: 'keyword' | 'string' | 'literal' | 'comment' | 'plain';
  readonly text: string;
}

/** What the patterns' groups stand for, in order. */
const kinds = ['comment', 'string', 'keyword', 'literal'] as const;

const patterns = {
  typescript:
    /(\/\/.*)|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)|\b(await|const|from|import|new|using)\b|\b(true|false|null|\d[\d_]*)\b/g,
  // A quote within quotes ends them, is escaped, and begins them again.
  shell: /((?:^|(?<=\s))#.*)|('[^']*'(?:\\''[^']*')*|"(?:[^"\\]|\\.)*")/g,
} as const;

/** Splits a line of code into parts with a colour. Nothing is lost: their texts make up the line. */
export function tokenize(line: string, language: keyof typeof patterns): readonly Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of line.matchAll(patterns[language])) {
    if (match.index > end) tokens.push({ kind: 'plain', text: line.slice(end, match.index) });
    const group = match.slice(1).findIndex((text) => text !== undefined);
    tokens.push({ kind: kinds[group] ?? 'plain', text: match[0] });
    end = match.index + match[0].length;
  }
  if (end < line.length) tokens.push({ kind: 'plain', text: line.slice(end) });
  return tokens;
}
