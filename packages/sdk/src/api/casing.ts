/**
 * Turns JSON of the service into what callers see: names in camel case, and times as dates. A field is a time if its name ends with `_at`, which
 * a test holds against the contract.
 */
export function fromApi(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return name.endsWith('_at') ? new Date(value) : value;
  if (Array.isArray(value)) return value.map((item) => fromApi(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [camelCased(key), fromApi(field, key)]));
}

/** The reverse of `fromApi`: JSON as the service sends it. */
export function toApi(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(toApi);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [snakeCased(key), toApi(field)]));
}

function camelCased(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function snakeCased(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
