let token: string | undefined;
const listeners = new Set<() => void>();

/** Returns the token of a sign-in link's fragment; undefined for any other fragment. */
export function readLinkToken(fragment: string): string | undefined {
  return new URLSearchParams(fragment.replace(/^#/, '')).get('link') || undefined;
}

/** Takes the token of the link that opened the page, and of one that is opened in its place: then only the fragment changes. */
export function watchForLinks(): void {
  takeLinkToken();
  window.addEventListener('hashchange', takeLinkToken);
}

/** Keeps the token, and removes it from the address and from the history of the browser. */
function takeLinkToken(): void {
  const found = readLinkToken(location.hash);
  if (found === undefined) return;
  history.replaceState(history.state, '', `${location.pathname}${location.search}`);
  changeToken(found);
}

/** The token of the link that was opened and not used yet. */
export function linkToken(): string | undefined {
  return token;
}

/** A link works once. */
export function forgetLinkToken(): void {
  changeToken(undefined);
}

/** Calls the listener when a link is opened or forgotten. Returns how to stop that. */
export function onLinkToken(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function changeToken(next: string | undefined): void {
  token = next;
  for (const listener of listeners) listener();
}
