const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
/** Enough for every body that was not made to be slow. */
const maxSteps = 50_000;

/** Where a string lies in a JSON text, without its quotes. */
export interface StringSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the value of a field of the outermost object if it is a string; the last one counts, as for JSON.parse. The text is not
 * checked: in one that is no JSON, whatever is found is a piece between two quotes. Gives up after so many strings and bytes outside
 * of strings.
 */
export function findString(json: Buffer, field: string): StringSpan | undefined {
  let found: StringSpan | undefined;
  let depth = 0;
  let at = 0;
  for (let step = 0; at < json.length; step += 1) {
    if (step === maxSteps) return undefined;
    const byte = json[at];
    if (byte !== quote) {
      if (byte === openBrace || byte === openBracket) depth += 1;
      else if (byte === closeBrace || byte === closeBracket) depth -= 1;
      at += 1;
      continue;
    }
    const key = spanAt(json, at);
    if (key === undefined) return undefined;
    at = skipSpace(json, key.end + 1);
    if (depth !== 1 || json[at] !== colon) continue;
    at = skipSpace(json, at + 1);
    const isString = json[at] === quote;
    const value = isString ? spanAt(json, at) : undefined;
    if (isString && value === undefined) return undefined;
    if (isNamed(json, key, field)) found = value;
    if (value !== undefined) at = value.end + 1;
  }
  return found;
}

/** The string whose opening quote is here; undefined if it never ends. */
function spanAt(json: Buffer, opening: number): StringSpan | undefined {
  const start = opening + 1;
  const first = json.indexOf(quote, start);
  if (first === -1) return undefined;
  if (json[first - 1] !== backslash) return { start, end: first };
  for (let at = start; at < json.length; at += 1) {
    if (json[at] === backslash) at += 1;
    else if (json[at] === quote) return { start, end: at };
  }
  return undefined;
}

function skipSpace(json: Buffer, from: number): number {
  let at = from;
  while (json[at] === 0x20 || json[at] === 0x0a || json[at] === 0x0d || json[at] === 0x09) at += 1;
  return at;
}

/** Whether a key is this name, however it is spelled. */
function isNamed(json: Buffer, { start, end }: StringSpan, name: string): boolean {
  const length = end - start;
  if (length === name.length) return json.toString('latin1', start, end) === name;
  // Spelled with escapes, a character takes six bytes at most.
  if (length > name.length * 6 || !json.subarray(start, end).includes(backslash)) return false;
  try {
    return JSON.parse(json.toString('utf8', start - 1, end + 1)) === name;
  } catch {
    return false;
  }
}
