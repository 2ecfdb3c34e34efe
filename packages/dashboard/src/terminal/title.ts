const maxCharacters = 60;
/** Control characters, and those that change the direction of text or cannot be seen. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** The title that a program gave its terminal, on one line and bounded. Undefined if nothing is left of it. */
export function readableTitle(title: string): string | undefined {
  // It is cut before it is searched, because it can be of any length.
  const text = title.slice(0, 1_000).replace(unseen, ' ').replace(/\s+/g, ' ').trim();
  const characters = Array.from(text);
  const shown = characters.length > maxCharacters ? `${characters.slice(0, maxCharacters - 1).join('')}…` : text;
  return shown === '' ? undefined : shown;
}
