/** Says what is wrong with a value, or nothing. */
export type Shape = (value: unknown) => string | undefined;

const show = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 80);

const that =
  (what: string, holds: (value: unknown) => boolean): Shape =>
  (value) =>
    holds(value) ? undefined : `${show(value)} is not ${what}`;

export const text = that('a string', (value) => typeof value === 'string');
export const flag = that('a boolean', (value) => typeof value === 'boolean');
export const integer = that('an integer', Number.isInteger);
export const number = that('a number', Number.isFinite);
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
export const dateTime = that('an ISO 8601 date-time', (value) => typeof value === 'string' && iso.test(value));
export const httpsUrl = that('an https URL', (value) => URL.parse(String(value))?.protocol === 'https:');
export const only = (...allowed: readonly unknown[]): Shape =>
  that(`one of ${show(allowed)}`, (value) => allowed.includes(value));

export const orNull =
  (shape: Shape): Shape =>
  (value) =>
    value === null ? undefined : shape(value);

export const listOf =
  (shape: Shape): Shape =>
  (value) => {
    if (!Array.isArray(value)) return `${show(value)} is not an array`;
    for (const [at, item] of value.entries()) {
      const wrong = shape(item);
      if (wrong) return `[${at}]${wrong.startsWith('.') ? '' : ': '}${wrong}`;
    }
    return undefined;
  };

/** An object with these fields; other fields may be there. */
export const record =
  (fields: Readonly<Record<string, Shape>>): Shape =>
  (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${show(value)} is not an object`;
    for (const [name, shape] of Object.entries(fields)) {
      const wrong = Object.hasOwn(value, name) ? shape(Reflect.get(value, name)) : 'is missing';
      if (wrong) return `.${name}${/^[.[]/.test(wrong) ? '' : ': '}${wrong}`;
    }
    return undefined;
  };

/** An object with these fields and no other. */
export const exactly =
  (fields: Readonly<Record<string, Shape>>): Shape =>
  (value) => {
    const other = Object.keys(value ?? {}).find((name) => !Object.hasOwn(fields, name));
    return record(fields)(value) ?? (other === undefined ? undefined : `.${other} should not be there`);
  };

/** One of several shapes. */
export const either =
  (...shapes: readonly Shape[]): Shape =>
  (value) => {
    const wrongs = shapes.map((shape) => shape(value));
    return wrongs.includes(undefined) ? undefined : wrongs.join(', and ');
  };
