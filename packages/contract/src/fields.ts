import { z } from 'zod';

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

/** A string without NUL, at most so many code points long. */
export function textField(name: string, max: number) {
  return z
    .string({ error: `${name} must be a string` })
    .refine((text) => fitsCodePoints(text, max), { error: `${name} must be at most ${max} characters` })
    .refine((text) => !text.includes('\0'), { error: `${name} must not contain NUL characters` });
}

/** An integer of a JSON body within bounds. */
export function integerField(name: string, min: number, max: number) {
  const error = `${name} must be an integer from ${min} to ${max}`;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

/** An integer of a query string within bounds. */
export function integerParameter(name: string, min: number, max: number) {
  const error = `${name} must be an integer from ${min} to ${max}`;
  return z
    .string({ error })
    .regex(/^-?\d{1,15}$/, { error, abort: true })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }));
}

/** A boolean of a query string: `true` or `false`. */
export function booleanParameter(name: string) {
  return z.enum(['true', 'false'], { error: `${name} must be true or false` }).transform((value) => value === 'true');
}

/** A body that may be missing: nothing and null are read as `{}`. */
export function optionalBody<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess((body) => body ?? {}, z.object(shape, { error: 'the body must be a JSON object' }));
}
