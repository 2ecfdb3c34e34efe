/** What is in a file now. */
export type Found =
  | { readonly kind: 'text'; readonly content: string }
  /** It was deleted. */
  | { readonly kind: 'missing' }
  /** It is a folder, or not text any more. */
  | { readonly kind: 'other' };

/** What saving does: `ask` because somebody else has changed the file since it was opened or saved. */
export type SaveDecision =
  | { readonly kind: 'write' }
  | { readonly kind: 'same' }
  | { readonly kind: 'ask'; readonly found: Found };

/** Decides about `mine`, which was made from `base`. */
export function decideSave(mine: string, base: string, found: Found): SaveDecision {
  if (found.kind !== 'text') return { kind: 'ask', found };
  if (found.content === mine) return { kind: 'same' };
  return found.content === base ? { kind: 'write' } : { kind: 'ask', found };
}

/** How the lines of a text end, so that the editor keeps them as they are. A mixture is kept by taking CR for a character. */
export function lineSeparatorOf(text: string): '\n' | '\r\n' {
  return text.includes('\r\n') && !/(?:^|[^\r])\n/.test(text) ? '\r\n' : '\n';
}

/** Whether a content can be edited as text. */
export function isText(content: string): boolean {
  return !content.includes('\0');
}
