/** The public URL of a preview. */
export function previewUrl(domain: string, port: number, token: string): string {
  const shownPort = port === 443 ? '' : `:${port}`;
  return `https://${token}.${domain}${shownPort}/`;
}
