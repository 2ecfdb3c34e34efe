import { z } from 'zod';
import { createAccountBody } from './accounts.ts';
import { accountParameters, adminOperation } from './protocol.ts';

/** A link that signs in to the dashboard once. It is shown only here. */
const signInLinkSchema = z.object({
  object: z.literal('sign_in_link'),
  email: z.string(),
  url: z.string(),
  expires_at: z.iso.datetime(),
  /** Whether the account was created for it. */
  account_created: z.boolean(),
});

export type SignInLink = z.infer<typeof signInLinkSchema>;

/** A link for an account, in place of its earlier one. */
export const createLoginLink = adminOperation({
  name: 'accounts.login-link',
  method: 'POST',
  path: '/accounts/{email}/login-link',
  params: accountParameters,
  response: signInLinkSchema,
});

/** A link for somebody new, whose account is created if there is none. */
export const inviteAccount = adminOperation({
  name: 'accounts.invite',
  method: 'POST',
  path: '/invitations',
  body: createAccountBody,
  response: signInLinkSchema,
});

/** Removes the password and two-factor authentication of an account, ends its sessions, and makes a link. */
export const resetPassword = adminOperation({
  name: 'accounts.reset-password',
  method: 'POST',
  path: '/accounts/{email}/reset-password',
  params: accountParameters,
  response: signInLinkSchema,
});
