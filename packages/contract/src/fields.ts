import { z } from 'zod';

// Building blocks of the schemas. `meta` adds what the OpenAPI document should say about a schema but cannot be derived from its
// checks: keywords of JSON Schema, or `published`, which replaces the derived schema.

/** Opaque ids; the prefixes are for human readers. */
export const sandboxId = z.string().meta({ description: 'Opaque.', examples: ['sbx_4w5pz2hq7m3kx6tn2ab7cdfe'] });
export const snapshotId = z.string().meta({ description: 'Opaque.', examples: ['snap_m4t7xk2q5w3vb6ynz7pahcdr'] });
export const executionId = z.string().meta({ description: 'Opaque.', examples: ['exec_q2m7rk4t5x3vb6ynz7pahcdw'] });
export const accountId = z.string().meta({ description: 'Opaque.', examples: ['acct_h6k3vz5p2wq7mx4tnb3ycdrf'] });

/** A request id that a caller may choose: visible ASCII characters. Any other value is replaced. */
export const requestIdPattern = /^[\x21-\x7e]{1,128}$/;

/** A date-time in a response: ISO 8601 in UTC. */
export function timestamp(description: string, example: string) {
  return z.iso.datetime().meta({ description, examples: [example] });
}

/** Whether a string has at most `max` code points, which is how the API counts characters. */
export function fitsCodePoints(text: string, max: number): boolean {
  // The length in UTF-16 units settles most cases without counting.
  return text.length <= max || (text.length <= max * 2 && countCodePoints(text) <= max);
}

function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The JSON Schema pattern of a string without NUL. */
export const withoutNulPattern = '^[^\\u0000]*$';

/** Rejects NUL, which neither process arguments nor file names can contain. */
export function withoutNul<Field extends z.ZodString>(name: string, field: Field) {
  return field
    .refine((text) => !text.includes('\0'), { error: `${name} must not contain NUL characters` })
    .meta({ pattern: withoutNulPattern });
}

/** A string without NUL of at most `max` code points. */
export function textField(name: string, max: number) {
  return withoutNul(
    name,
    z
      .string({ error: `${name} must be a string` })
      .refine((text) => fitsCodePoints(text, max), { error: `${name} must be at most ${max} characters` })
      .meta({ maxLength: max }),
  );
}

/** An integer in a JSON body. */
export function integerField(name: string, min: number, max: number) {
  const error = `${name} must be an integer from ${min} to ${max}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

/** An integer in a path or query string. */
export function integerParameter(name: string, min: number, max: number) {
  const error = `${name} must be an integer from ${min} to ${max}`;
  return z
    .string({ error })
    .regex(/^-?\d{1,15}$/, { error, abort: true })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }))
    .meta({ published: { type: 'integer', minimum: min, maximum: max } });
}

/** A boolean in a query string: `true` or `false`. */
export function booleanParameter(name: string) {
  return z
    .enum(['true', 'false'], { error: `${name} must be true or false` })
    .transform((value) => value === 'true')
    .meta({ published: { type: 'boolean' } });
}

/** The cursor of a list whose items are ordered by their creation time; parsed into unix milliseconds. */
export function cursorParameter() {
  const error = 'starting_after must be a date-time';
  return z.iso
    .datetime({ offset: true, error })
    .transform((text) => Date.parse(text))
    .pipe(z.number({ error }))
    .optional()
    .describe('The `next_cursor` of the previous page.');
}

/** What a browser sends in place of a key. The service reads it before it validates anything; the schema is for the document. */
export const ticketParameter = z
  .string({ error: 'ticket must be given once' })
  .optional()
  .describe('A ticket, in place of the API key; see `POST /tickets`. Ignored if the key is sent.');

/** An optional field of a body. Missing and null both mean the default. */
export function fieldOr<Field extends z.ZodType, const Default>(field: Field, defaultValue: Default) {
  return field
    .nullish()
    .transform((given) => given ?? defaultValue)
    .meta({ default: defaultValue });
}

/** An optional path or query parameter with a default. */
export function parameterOr<Field extends z.ZodType, const Default>(field: Field, defaultValue: Default) {
  return field
    .optional()
    .transform((given) => given ?? defaultValue)
    .meta({ default: defaultValue });
}

/**
 * Text of the caller inside a message: quoted, on one line, shortened, and without a `;`, which separates the rules of a message. The
 * result is a JSON string.
 */
export function quoteForMessage(text: string, maxLength = 80): string {
  const shown = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return JSON.stringify(shown.toWellFormed()).replaceAll(';', '\\u003b');
}

/**
 * Fields that are reserved for features that do not exist yet. They are refused, because a caller who sends one relies on it; other
 * unknown fields are ignored. Null means absent, and so does false, which asks for nothing.
 */
export function reservedFields<const Name extends string>(...names: readonly Name[]) {
  const fields = names.map((name) => {
    const error = `${name} is not supported by this version of the service`;
    return [
      name,
      z
        .union([z.null(), z.literal(false)], { error })
        .optional()
        .meta({ published: false }),
    ] as const;
  });
  return Object.fromEntries(fields) as Record<Name, (typeof fields)[number][1]>;
}

/** A query string with reserved parameters. One with a key in brackets, such as `metadata[env]`, counts as the one before them. */
export function queryWithReserved<Shape extends z.ZodRawShape, const Name extends string>(
  shape: Shape,
  ...names: readonly Name[]
) {
  const withoutKey = (given: string): string => names.find((name) => given.startsWith(`${name}[`)) ?? given;
  const withoutKeys = (query: unknown): unknown => {
    if (typeof query !== 'object' || query === null) return query;
    return Object.fromEntries(Object.entries(query).map(([name, value]) => [withoutKey(name), value]));
  };
  return z.preprocess(withoutKeys, z.object({ ...shape, ...reservedFields(...names) }));
}

/** Accepts the standard alphabet with padding, without white space. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** With this condition, zod checks a rule also when a single field has already failed. */
export function isAnyObject({ value }: { readonly value: unknown }): boolean {
  return typeof value === 'object' && value !== null;
}

/** A JSON object as the body. A missing body and null are read as `{}`. */
export function optionalBody<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess((body) => body ?? {}, z.object(shape, { error: 'the body must be a JSON object' }));
}

/** One page of a list that is read with a cursor, newest first. */
export function listEnvelope<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item).describe('Newest first.'),
    has_more: z.boolean().meta({ description: 'Whether there are more pages.', examples: [false] }),
    next_cursor: z
      .string()
      .nullable()
      .meta({
        description: 'Pass it as `starting_after` to get the next page. Null on the last page.',
        examples: [null],
      }),
  });
}
