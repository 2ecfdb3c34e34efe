/** Headers that concern one connection only. */
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

/** Headers by their lower-case names, each with its values in order; without those of one connection only. */
export function endToEnd(rawHeaders: readonly string[]): Map<string, string[]> {
  const headers = new Map<string, string[]>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    const values = headers.get(name) ?? [];
    headers.set(name, values);
    values.push(rawHeaders[at + 1] ?? '');
  }
  const named = (headers.get('connection') ?? []).flatMap((value) => value.toLowerCase().split(','));
  for (const name of [...hopByHop, ...named.map((text) => text.trim())]) headers.delete(name);
  return headers;
}

/** Headers as Node takes them. */
export function toNodeHeaders(headers: ReadonlyMap<string, string[]>): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = Object.create(null);
  for (const [name, values] of headers) result[name] = values.length === 1 ? (values[0] ?? '') : values;
  return result;
}
