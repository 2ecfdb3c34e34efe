/** The public URL of a preview. */
export function previewUrlOf(domain: string, port: number): (token: string) => string {
  const shownPort = port === 443 ? '' : `:${port}`;
  return (token) => `https://${token}.${domain}${shownPort}/`;
}
