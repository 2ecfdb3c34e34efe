let token: string | undefined;

/** Returns the token of a sign-in link's fragment; undefined for any other fragment. */
export function readLinkToken(fragment: string): string | undefined {
  return new URLSearchParams(fragment.replace(/^#/, '')).get('link') || undefined;
}

/** Keeps the token of the link that opened the page, and removes it from the address and from the history of the browser. */
export function takeLinkToken(): void {
  const found = readLinkToken(location.hash);
  if (found === undefined) return;
  token = found;
  history.replaceState(history.state, '', `${location.pathname}${location.search}`);
}

/** The token of the link that opened the page. */
export function linkToken(): string | undefined {
  return token;
}

/** A link works once. */
export function forgetLinkToken(): void {
  token = undefined;
}
