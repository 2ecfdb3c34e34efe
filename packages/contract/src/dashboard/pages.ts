/** The paths that answer with the dashboard's page. A path that ends in `/*` stands for everything below it. */
export const dashboardPages = [
  '/',
  '/sign-in',
  '/sandboxes',
  '/sandboxes/*',
  '/keys',
  '/snapshots',
  '/usage',
  '/settings',
] as const;

/** The page where a sign-in link is used. The token is in the fragment, which browsers send to no server. */
export function signInLinkUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/sign-in#link=${token}`;
}
