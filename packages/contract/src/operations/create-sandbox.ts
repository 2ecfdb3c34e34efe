import { z } from 'zod';
import { fieldOr, fitsCodePoints, integerField, optionalBody, textField } from '../fields.ts';
import type { Limits } from '../limits.ts';
import { sandboxSchema } from '../resources/sandbox.ts';
import { sizeNames } from '../sizes.ts';
import { operation } from './operation.ts';

/** POST /sandboxes; defaults are filled in. */
export function createSandbox(limits: Limits) {
  const keyError = `Idempotency-Key must be 1 to ${limits.idempotencyKeyCharacters} characters`;
  return operation({
    id: 'createSandbox',
    method: 'POST',
    path: '/sandboxes',
    tag: 'Sandboxes',
    summary: 'Create a sandbox',
    description:
      'Answers once the sandbox takes commands. Allow for several minutes: usually it is ready in about a second, but a machine that has to be built takes longer. To retry safely, send the same `Idempotency-Key` again: a create that already succeeded is then not repeated.',
    headers: z.looseObject({
      'idempotency-key': z
        .string({ error: keyError })
        .refine((key) => key !== '' && fitsCodePoints(key, limits.idempotencyKeyCharacters), { error: keyError })
        .meta({ minLength: 1, maxLength: limits.idempotencyKeyCharacters })
        .optional()
        .describe('Names this create. Repeating it with the same key returns the original sandbox.')
        .meta({ examples: ['nightly-build-4711'] }),
    }),
    body: optionalBody({
      size: fieldOr(z.enum(sizeNames, { error: `size must be one of ${sizeNames.join(', ')}` }), 'small').describe(
        'How large the machine is.',
      ),
      name: fieldOr(
        textField('name', limits.nameCharacters).transform((name) => name.toWellFormed()),
        null,
      )
        .describe('A label for people.')
        .meta({ examples: ['nightly build'] }),
      // Null stands for the default, which an account with shorter lifetimes lowers.
      timeout_minutes: fieldOr(integerField('timeout_minutes', 1, limits.maxTimeoutMinutes), null)
        .describe('How long the sandbox lives before it is destroyed by itself, in minutes.')
        .meta({ default: limits.defaultTimeoutMinutes }),
    }),
    responses: { 200: sandboxSchema, 201: sandboxSchema },
    outcomes: {
      200: 'The sandbox that an earlier create with the same `Idempotency-Key` made.',
      201: 'The new sandbox, `running`.',
    },
    location: 'The URL of the sandbox.',
    errors: [
      'invalid_request',
      'insufficient_credits',
      'quota_exceeded',
      'provisioning_failed',
      'capacity_unavailable',
    ],
  });
}

export type CreateSandboxBody = z.output<ReturnType<typeof createSandbox>['body']>;
