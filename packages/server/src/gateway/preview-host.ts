const label = /^[a-z0-9]{1,63}$/;

/** The token in a preview's host name (with or without a port), or undefined if it is not a preview's host name. */
export function tokenOf(host: string | undefined, domain: string): string | undefined {
  if (host === undefined) return undefined;
  const name = host
    .toLowerCase()
    .replace(/:\d{0,5}$/, '')
    .replace(/\.$/, '');
  const suffix = `.${domain}`;
  if (!name.endsWith(suffix)) return undefined;
  const token = name.slice(0, -suffix.length);
  return label.test(token) ? token : undefined;
}

/** The host of a URL, or undefined if it is not a URL. */
export function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined;
}
