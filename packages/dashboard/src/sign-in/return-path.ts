/** Where a person goes who came to no page in particular. */
const firstPage = '/sandboxes';

/** Returns a path of the dashboard to go to after signing in. The address may come from somebody else, so it cannot lead to another site, or to a page that only signs in. */
export function returnPath(given: unknown): string {
  if (typeof given !== 'string' || !given.startsWith('/')) return firstPage;
  const base = 'https://dashboard.invalid';
  if (!URL.canParse(given, base)) return firstPage;
  const url = new URL(given, base);
  if (url.origin !== base || url.pathname === '/' || url.pathname === '/sign-in') return firstPage;
  // Two slashes at the start of a path would lead to another host when it stands alone.
  if (url.pathname.startsWith('//')) return firstPage;
  return `${url.pathname}${url.search}`;
}

/** The sign-in page for somebody who was at a path of the dashboard. */
export function signInTarget(path: string) {
  const from = returnPath(path);
  return { to: '/sign-in', search: from === firstPage ? {} : { from } } as const;
}
