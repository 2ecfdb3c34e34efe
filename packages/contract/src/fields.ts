import { z } from 'zod';

// The metadata of a schema is what the reference says about it where its checks do not show it: keywords of JSON Schema, and
// `published`, which stands there instead of what the schema itself would give.

/** How long a string is in code points, which is how the interface counts characters. */
function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Whether a string has at most so many code points; does not count when the answer is plain. */
export function fitsCodePoints(text: string, max: number): boolean {
  return text.length <= max || (text.length <= max * 2 && countCodePoints(text) <= max);
}

/** No NUL anywhere, as a pattern of JSON Schema. */
export const withoutNulPattern = '^[^\\u0000]*$';

/** A string that can reach a process or a file name: neither knows NUL. */
export function withoutNul<Field extends z.ZodString>(name: string, field: Field) {
  return field
    .refine((text) => !text.includes('\0'), { error: `${name} must not contain NUL characters` })
    .meta({ pattern: withoutNulPattern });
}

/** A string without NUL, at most so many code points long. */
export function textField(name: string, max: number) {
  return withoutNul(
    name,
    z
      .string({ error: `${name} must be a string` })
      .refine((text) => fitsCodePoints(text, max), { error: `${name} must be at most ${max} characters` })
      .meta({ maxLength: max }),
  );
}

/** An integer of a JSON body within bounds. */
export function integerField(name: string, min: number, max: number) {
  const error = `${name} must be an integer from ${min} to ${max}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

/** An integer of a path or query string within bounds. */
export function integerParameter(name: string, min: number, max: number) {
  const error = `${name} must be an integer from ${min} to ${max}`;
  return z
    .string({ error })
    .regex(/^-?\d{1,15}$/, { error, abort: true })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }))
    .meta({ published: { type: 'integer', minimum: min, maximum: max } });
}

/** A boolean of a query string: `true` or `false`. */
export function booleanParameter(name: string) {
  return z
    .enum(['true', 'false'], { error: `${name} must be true or false` })
    .transform((value) => value === 'true')
    .meta({ published: { type: 'boolean' } });
}

/** A field of a body that may be missing or null, which both mean this value. */
export function fieldOr<Field extends z.ZodType, const Missing>(field: Field, missing: Missing) {
  return field
    .nullish()
    .transform((given) => given ?? missing)
    .meta({ default: missing });
}

/** A parameter that may be missing, which means this value. */
export function parameterOr<Field extends z.ZodType, const Missing>(field: Field, missing: Missing) {
  return field
    .optional()
    .transform((given) => given ?? missing)
    .meta({ default: missing });
}

/** A body that may be missing: nothing and null are read as `{}`. */
export function optionalBody<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess((body) => body ?? {}, z.object(shape, { error: 'the body must be a JSON object' }));
}
