import { z } from 'zod';
import { keyNameField } from '../dashboard/keys.ts';
import { accountParameters, adminOperation } from './protocol.ts';

/** An API key as an operator sees it. The key itself is not stored. */
const adminKeySchema = z.object({
  object: z.literal('api_key'),
  id: z.string(),
  email: z.string(),
  /** What people call it; null if nobody named it. */
  name: z.string().nullable(),
  /** The first characters of the key, to recognise it by. */
  prefix: z.string(),
  status: z.enum(['active', 'revoked']),
  created_at: z.iso.datetime(),
  /** Up to a minute or two behind. Null if it was never used. */
  last_used_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
});

export type AdminKey = z.infer<typeof adminKeySchema>;

/** A new API key. It is shown only here. */
const createdKeySchema = adminKeySchema.extend({ api_key: z.string() });

export type CreatedKey = z.infer<typeof createdKeySchema>;

/** All keys of an account, oldest first, including revoked ones. */
const adminKeyListSchema = z.object({ object: z.literal('list'), data: z.array(adminKeySchema) });

export type AdminKeyList = z.infer<typeof adminKeyListSchema>;

export const listKeys = adminOperation({
  name: 'keys.list',
  method: 'GET',
  path: '/accounts/{email}/keys',
  params: accountParameters,
  response: adminKeyListSchema,
});

export const createKey = adminOperation({
  name: 'keys.create',
  method: 'POST',
  path: '/accounts/{email}/keys',
  params: accountParameters,
  body: z.object({ name: keyNameField.optional() }),
  response: createdKeySchema,
});

export const revokeKey = adminOperation({
  name: 'keys.revoke',
  method: 'DELETE',
  path: '/accounts/{email}/keys/{key}',
  params: accountParameters.extend({ key: z.string() }),
  response: adminKeySchema,
});
