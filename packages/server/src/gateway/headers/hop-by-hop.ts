/** Headers that apply to a single connection. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** The headers by lower-case name with their values in order, without hop-by-hop headers and those that Connection lists. */
export function endToEnd(rawHeaders: readonly string[]): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const values = headers.get(name) ?? [];
    headers.set(name, values);
    values.push(rawHeaders[at + 1] ?? '');
  }
  const listed = (headers.get('connection') ?? []).flatMap((value) => value.toLowerCase().split(','));
  for (const name of [...hopByHop, ...listed.map((text) => text.trim())]) headers.delete(name);
  return headers;
}

/** Converts headers to the form that Node accepts. */
export function toNodeHeaders(headers: ReadonlyMap<string, string[]>): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = Object.create(null);
  for (const [name, values] of headers) result[name] = values.length === 1 ? (values[0] ?? '') : values;
  return result;
}
