import { z } from 'zod';
import { textField } from '../fields.ts';
import { accountParameters, adminOperation } from './protocol.ts';
import { adminSandboxSchema } from './sandboxes.ts';
import { usdField } from './usd.ts';

/** An account as an operator sees it. */
const adminAccountSchema = z.object({
  object: z.literal('account'),
  id: z.string(),
  email: z.string(),
  status: z.enum(['active', 'suspended']),
  /** The cost of running sandboxes is already deducted. */
  balance_usd: z.number(),
  created_at: z.iso.datetime(),
});

export type AdminAccount = z.infer<typeof adminAccountSchema>;

/** A new account with its first API key. The key is shown only here. */
const createdAccountSchema = adminAccountSchema.extend({ api_key_id: z.string(), api_key: z.string() });

export type CreatedAccount = z.infer<typeof createdAccountSchema>;

/** All accounts, oldest first. */
const adminAccountListSchema = z.object({ object: z.literal('list'), data: z.array(adminAccountSchema) });

export type AdminAccountList = z.infer<typeof adminAccountListSchema>;

const emailError = 'email must be an e-mail address';

const emailField = z
  .string({ error: emailError })
  .max(254, { error: 'email must be at most 254 characters' })
  .regex(/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u, { error: emailError });

const openingCreditField = usdField('credit')
  .refine((microUsd) => microUsd >= 0, { error: 'credit must not be negative' })
  .default(0);

/** A new account. The credit is in the ledger from the start. */
export const createAccountBody = z.object({ email: emailField, credit_usd: openingCreditField });

const suspendAccountBody = z.object({
  /** Also destroy the account's sandboxes. */
  destroy: z.boolean({ error: 'destroy must be true or false' }).default(false),
});

/** An account after it was suspended, and the sandboxes that were destroyed with it. */
const suspendedAccountSchema = adminAccountSchema.extend({ destroyed: z.array(adminSandboxSchema) });

export type SuspendedAccount = z.infer<typeof suspendedAccountSchema>;

const addCreditBody = z.object({
  /** A negative amount withdraws credit. */
  usd: usdField('usd').refine((microUsd) => microUsd !== 0, { error: 'usd must not be zero' }),
  /** Stored with the ledger entry. */
  note: textField('note', 200).default(''),
});

export const listAccounts = adminOperation({
  name: 'accounts.list',
  method: 'GET',
  path: '/accounts',
  response: adminAccountListSchema,
});

export const getAccount = adminOperation({
  name: 'accounts.get',
  method: 'GET',
  path: '/accounts/{email}',
  params: accountParameters,
  response: adminAccountSchema,
});

export const createAccount = adminOperation({
  name: 'accounts.create',
  method: 'POST',
  path: '/accounts',
  body: createAccountBody,
  response: createdAccountSchema,
});

export const suspendAccount = adminOperation({
  name: 'accounts.suspend',
  method: 'POST',
  path: '/accounts/{email}/suspend',
  params: accountParameters,
  body: suspendAccountBody,
  response: suspendedAccountSchema,
});

export const resumeAccount = adminOperation({
  name: 'accounts.resume',
  method: 'POST',
  path: '/accounts/{email}/resume',
  params: accountParameters,
  response: adminAccountSchema,
});

export const addCredit = adminOperation({
  name: 'accounts.credit',
  method: 'POST',
  path: '/accounts/{email}/credit',
  params: accountParameters,
  body: addCreditBody,
  response: adminAccountSchema,
});
