import { z } from 'zod';
import { fitsCodePoints } from '../fields.ts';
import { dashboardLimits } from './limits.ts';
import { dashboardOperation } from './operation.ts';
import { objectBody } from './sessions.ts';

const { keyNameCharacters } = dashboardLimits;
const nameError = `name must be 1 to ${keyNameCharacters} characters`;

/** A name for people, without surrounding white space. */
export const keyNameField = z
  .string({ error: nameError })
  .transform((text) => text.trim())
  .pipe(
    z.string().refine((name) => name !== '' && fitsCodePoints(name, keyNameCharacters) && !/\p{Cc}/u.test(name), {
      error: `${nameError}, without control characters`,
    }),
  );

/** An API key as its account sees it. The key itself is not stored. */
const apiKeySchema = z.object({
  object: z.literal('api_key'),
  id: z.string(),
  /** Null for keys from before they had names. */
  name: z.string().nullable(),
  /** The first characters of the key, to recognise it by. */
  prefix: z.string(),
  created_at: z.iso.datetime(),
  /** Up to a minute or two behind. Null if it was never used. */
  last_used_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
});

export type ApiKey = z.infer<typeof apiKeySchema>;

/** A new key. It is shown only here. */
const createdApiKeySchema = apiKeySchema.extend({ key: z.string() });

export type CreatedApiKey = z.infer<typeof createdApiKeySchema>;

/** Newest first, including revoked ones. */
const apiKeyListSchema = z.object({
  object: z.literal('list'),
  data: z.array(apiKeySchema),
  /** How many of them are not revoked. */
  active: z.int().min(0),
  /** How many active keys the account may have. */
  limit: z.int().min(0),
});

export type ApiKeyList = z.infer<typeof apiKeyListSchema>;

const revokedApiKeySchema = z.object({
  object: z.literal('api_key'),
  id: z.string(),
  revoked_at: z.iso.datetime(),
});

export type RevokedApiKey = z.infer<typeof revokedApiKeySchema>;

export const listApiKeys = dashboardOperation({
  id: 'listApiKeys',
  method: 'GET',
  path: '/keys',
  summary: 'List the API keys of the account',
  responses: { 200: apiKeyListSchema },
  errors: [],
});

export const createApiKey = dashboardOperation({
  id: 'createApiKey',
  method: 'POST',
  path: '/keys',
  summary: 'Create an API key',
  body: objectBody({ name: keyNameField }),
  responses: { 201: createdApiKeySchema },
  errors: ['invalid_request', 'quota_exceeded'],
});

/** A key that is revoked already stays as it is. */
export const revokeApiKey = dashboardOperation({
  id: 'revokeApiKey',
  method: 'DELETE',
  path: '/keys/{id}',
  summary: 'Revoke an API key',
  params: z.object({ id: z.string() }),
  responses: { 200: revokedApiKeySchema },
  errors: ['not_found'],
});
