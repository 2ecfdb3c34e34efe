import { z } from 'zod';
import { fitsCodePoints, integerField, optionalBody, textField } from '../fields.ts';
import { limits } from '../limits.ts';
import { sizeNames } from '../sizes.ts';

/** Body of POST /sandboxes, with defaults filled in. */
export const createSandboxBody = optionalBody({
  size: z
    .enum(sizeNames, { error: `size must be one of ${sizeNames.join(', ')}` })
    .nullish()
    .transform((size) => size ?? 'small'),
  name: textField('name', limits.nameCharacters)
    .nullish()
    .transform((name) => name?.toWellFormed() ?? null),
  timeout_minutes: integerField('timeout_minutes', 1, limits.maxTimeoutMinutes)
    .nullish()
    .transform((minutes) => minutes ?? limits.defaultTimeoutMinutes),
});

export type CreateSandboxBody = z.output<typeof createSandboxBody>;

const keyError = `Idempotency-Key must be 1 to ${limits.idempotencyKeyCharacters} characters`;

/** Headers of POST /sandboxes. */
export const createSandboxHeaders = z.looseObject({
  'idempotency-key': z
    .string({ error: keyError })
    .refine((key) => key !== '' && fitsCodePoints(key, limits.idempotencyKeyCharacters), { error: keyError })
    .optional(),
});
