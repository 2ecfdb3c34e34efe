/** The paths that answer with the dashboard's page. */
export const dashboardPages = [
  '/',
  '/sign-in',
  '/sandboxes',
  '/sandboxes/:id',
  '/sandboxes/:id/commands',
  '/sandboxes/:id/terminal',
  '/sandboxes/:id/files',
  '/sandboxes/:id/ports',
  '/sandboxes/:id/snapshots',
  '/snapshots',
  '/usage',
  '/keys',
  '/settings',
] as const;

/** The page where a sign-in link is used. The token is in the fragment, which browsers send to no server. */
export function signInLinkUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/sign-in#link=${token}`;
}
