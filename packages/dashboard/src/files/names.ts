/** Characters that are not seen, or that move others: each is shown by its number. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]|(?<=^)\s|\s$|(?! )\p{Zs}/gu;
const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A name as it is shown: on one line, with nothing in it that cannot be seen. */
export function readableName(name: string): string {
  return name.replace(unseen, (one) => {
    if (one === ' ') return '␣';
    return named[one] ?? `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
