const longestName = 253;
const label = /^[a-z0-9-]{1,63}$/;

/** The name that a client's certificate is for: the one it asks for if that is one label under the domain, else the domain. */
export function certifiedName(servername: string | undefined, domain: string): string {
  // So long that it is no name: not even looked at.
  if (servername === undefined || servername.length > longestName) return domain;
  const name = servername.toLowerCase();
  if (!name.endsWith(`.${domain}`)) return domain;
  return label.test(name.slice(0, -domain.length - 1)) ? name : domain;
}
