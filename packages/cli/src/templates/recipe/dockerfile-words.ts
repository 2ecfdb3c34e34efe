import { variableName } from './recipe.ts';

/** The environment of every command in a sandbox, as the agent sets it (`guest/agent/internal/shell/shell.go`). */
export const sandboxEnvironment: Readonly<Record<string, string>> = {
  PATH: '/home/sandbox/.venv/bin:/home/sandbox/.npm-global/bin:/home/sandbox/.local/bin:/usr/local/bin:/usr/bin:/bin',
  HOME: '/home/sandbox',
  USER: 'sandbox',
};

/** A mistake in the arguments of an instruction. The caller knows the line. */
export class WordError extends Error {}

/** Splits at white space outside quotes. Quotes, escapes and variables stay as they are. */
export function splitWords(text: string): string[] {
  const word = /\s*((?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"\\])+)/sy;
  const rest = text.trimEnd();
  const words: string[] = [];
  while (word.lastIndex < rest.length) {
    const [, found] = word.exec(rest) ?? [];
    if (found === undefined) throw new WordError('has a quote that is not closed');
    words.push(found);
  }
  return words;
}

const token = /\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)"|\$\{([^}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)|([^\\'"$]+)|(.)/gs;

/** Removes quotes and escapes, and replaces variables by their values. */
export function expandWord(word: string, env: Readonly<Record<string, string>>): string {
  return word.replaceAll(
    token,
    (
      _match: string,
      escaped?: string,
      single?: string,
      double?: string,
      braced?: string,
      plain?: string,
      literal?: string,
      other?: string,
    ) => {
      if (double !== undefined) return expandQuoted(double, env);
      if (braced !== undefined) return expandBraces(braced, env);
      if (plain !== undefined) return requireValue(plain, env);
      if (other !== undefined && other !== '$') throw new WordError('has a quote that is not closed');
      return escaped ?? single ?? literal ?? other ?? '';
    },
  );
}

/** Within double quotes a backslash escapes only `"`, `$` and itself. */
function expandQuoted(text: string, env: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    /\\(["$\\])|\$\{([^}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)/g,
    (_match: string, escaped?: string, braced?: string, plain?: string) =>
      escaped ?? (braced === undefined ? requireValue(plain ?? '', env) : expandBraces(braced, env)),
  );
}

function expandBraces(content: string, env: Readonly<Record<string, string>>): string {
  const [, name = '', operator, word = ''] = /^(\w+)(?:(:[-+])(.*))?$/s.exec(content) ?? [];
  if (!variableName.test(name)) {
    throw new WordError(
      `has $\{${content}}, which is not supported. Use $NAME, $\{NAME}, $\{NAME:-default} or $\{NAME:+other}`,
    );
  }
  if (operator === ':-') return knownValue(name, env) || expandWord(word, env);
  if (operator === ':+') return knownValue(name, env) ? expandWord(word, env) : '';
  return requireValue(name, env);
}

function knownValue(name: string, env: Readonly<Record<string, string>>): string | undefined {
  if (Object.hasOwn(env, name)) return env[name];
  return Object.hasOwn(sandboxEnvironment, name) ? sandboxEnvironment[name] : undefined;
}

function requireValue(name: string, env: Readonly<Record<string, string>>): string {
  const value = knownValue(name, env);
  if (value === undefined)
    throw new WordError(`uses $${name}, which no earlier ENV sets. Set it, or write \\$ for a dollar sign`);
  return value;
}

/** The strings of a JSON array such as `["npm", "install"]`; undefined if the text is something else. */
export function jsonWords(text: string): string[] | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((word) => typeof word === 'string') ? value : undefined;
  } catch {
    return undefined;
  }
}
