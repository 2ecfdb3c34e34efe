import { z } from 'zod';
import { textField } from '../fields.ts';
import { emailField, usdField } from './fields.ts';
import { adminOperation } from './operation.ts';

/** An account as an operator sees it. */
export const adminAccountSchema = z.object({
  object: z.literal('account'),
  id: z.string(),
  email: z.string(),
  status: z.enum(['active', 'suspended']),
  /** What runs now is already taken off. */
  balance_usd: z.number(),
  created_at: z.iso.datetime(),
});

export type AdminAccount = z.infer<typeof adminAccountSchema>;

/** A new account with its first key, which is shown this once. */
export const createdAccountSchema = adminAccountSchema.extend({ api_key_id: z.string(), api_key: z.string() });

export type CreatedAccount = z.infer<typeof createdAccountSchema>;

/** Oldest first. */
export const adminAccountListSchema = z.object({ object: z.literal('list'), data: z.array(adminAccountSchema) });

export type AdminAccountList = z.infer<typeof adminAccountListSchema>;

/** Path parameters of everything that concerns one account. An address that names none is unknown, not invalid. */
export const accountParameters = z.object({ email: z.string() });

export const createAccountBody = z.object({
  email: emailField,
  credit_usd: usdField('credit')
    .refine((microUsd) => microUsd >= 0, { error: 'credit must not be negative' })
    .default(0),
});

export const addCreditBody = z.object({
  /** Negative to take credit back. */
  usd: usdField('usd').refine((microUsd) => microUsd !== 0, { error: 'usd must not be zero' }),
  /** Kept in the ledger, for people. */
  note: textField('note', 200).default(''),
});

export const listAccounts = adminOperation({ method: 'GET', path: '/accounts', response: adminAccountListSchema });

export const getAccount = adminOperation({
  method: 'GET',
  path: '/accounts/{email}',
  params: accountParameters,
  response: adminAccountSchema,
});

export const createAccount = adminOperation({
  method: 'POST',
  path: '/accounts',
  body: createAccountBody,
  response: createdAccountSchema,
});

export const suspendAccount = adminOperation({
  method: 'POST',
  path: '/accounts/{email}/suspend',
  params: accountParameters,
  response: adminAccountSchema,
});

export const resumeAccount = adminOperation({
  method: 'POST',
  path: '/accounts/{email}/resume',
  params: accountParameters,
  response: adminAccountSchema,
});

export const addCredit = adminOperation({
  method: 'POST',
  path: '/accounts/{email}/credit',
  params: accountParameters,
  body: addCreditBody,
  response: adminAccountSchema,
});
