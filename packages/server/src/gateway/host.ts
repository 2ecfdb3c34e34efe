const label = /^[a-z0-9]{1,63}$/;

/** The token in a host name of the preview domain, with or without a port; undefined if it is none. */
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
