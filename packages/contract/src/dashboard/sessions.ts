import { z } from 'zod';
import { fitsCodePoints } from '../fields.ts';
import { dashboardLimits } from './limits.ts';
import { dashboardOperation } from './operation.ts';

const { emailCharacters, maxPasswordCharacters, minPasswordCharacters } = dashboardLimits;

/** The session that the cookie of a request names, and its account. */
const sessionSchema = z.object({
  object: z.literal('session'),
  account: z.object({ id: z.string(), email: z.string() }),
  created_at: z.iso.datetime(),
  /** If the session is not used before. */
  expires_at: z.iso.datetime(),
  has_password: z.boolean(),
  /** Whether signing in with the password also needs a code. */
  two_factor: z.boolean(),
  /** Whether `setPassword` works without the current password: after a sign-in with a link, for a while. */
  may_set_password: z.boolean(),
});

export type Session = z.infer<typeof sessionSchema>;

/** One of the account's sessions, in their list. */
const sessionSummarySchema = z.object({
  object: z.literal('session_summary'),
  id: z.string(),
  /** Whether it is the session that asks. */
  current: z.boolean(),
  created_at: z.iso.datetime(),
  /** Up to five minutes behind. */
  last_used_at: z.iso.datetime(),
  /** From where it was signed in. */
  source_address: z.string(),
  /** What the browser calls itself, shortened. Untrusted text. */
  user_agent: z.string().nullable(),
});

export type SessionSummary = z.infer<typeof sessionSummarySchema>;

/** The most recently used first. */
const sessionListSchema = z.object({ object: z.literal('list'), data: z.array(sessionSummarySchema) });

export type SessionList = z.infer<typeof sessionListSchema>;

const deletedSessionSchema = z.object({ object: z.literal('session'), deleted: z.literal(true) });

/** How many sessions ended. */
const deletedSessionsSchema = z.object({ object: z.literal('deleted_sessions'), deleted: z.int().min(0) });

export type DeletedSessions = z.infer<typeof deletedSessionsSchema>;

/** Any text that could be an e-mail address: it is only compared with the addresses of accounts. */
const emailField = shortText('email', emailCharacters);

/** A password as it is typed. Only a new one has to meet rules. */
const passwordField = shortText('password', maxPasswordCharacters);

/** A code of an authenticator app, or a recovery code. Spaces and case do not matter. */
export const codeField = shortText('code', 64);

const newPasswordError = `new_password must be ${minPasswordCharacters} to ${maxPasswordCharacters} characters`;

const newPasswordField = z.string({ error: newPasswordError }).refine(isPasswordLength, { error: newPasswordError });

/** Whether a new password is neither too short nor too long. */
export function isPasswordLength(text: string): boolean {
  return !fitsCodePoints(text, minPasswordCharacters - 1) && fitsCodePoints(text, maxPasswordCharacters);
}

function shortText(name: string, max: number) {
  const error = `${name} must be a string of 1 to ${max} characters`;
  return z.string({ error }).refine((text) => text !== '' && fitsCodePoints(text, max), { error });
}

/** A JSON object as the body. */
export function objectBody<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape, { error: 'the body must be a JSON object' });
}

export const getSession = dashboardOperation({
  id: 'getSession',
  method: 'GET',
  path: '/session',
  summary: 'Get the current session',
  responses: { 200: sessionSchema },
  errors: [],
});

export const signIn = dashboardOperation({
  id: 'signIn',
  method: 'POST',
  path: '/session',
  summary: 'Sign in with a password',
  body: objectBody({ email: emailField, password: passwordField, code: codeField.nullish() }),
  responses: { 201: sessionSchema },
  signedOut: true,
  errors: ['invalid_request', 'wrong_credentials', 'code_required', 'wrong_code'],
});

export const signInWithLink = dashboardOperation({
  id: 'signInWithLink',
  method: 'POST',
  path: '/session/link',
  summary: 'Sign in with a link',
  body: objectBody({ token: shortText('token', 256) }),
  responses: { 201: sessionSchema },
  signedOut: true,
  errors: ['invalid_request', 'link_invalid'],
});

export const signOut = dashboardOperation({
  id: 'signOut',
  method: 'DELETE',
  path: '/session',
  summary: 'Sign out',
  responses: { 200: deletedSessionSchema },
  errors: [],
});

export const listSessions = dashboardOperation({
  id: 'listSessions',
  method: 'GET',
  path: '/sessions',
  summary: 'List the sessions of the account',
  responses: { 200: sessionListSchema },
  errors: [],
});

export const deleteSession = dashboardOperation({
  id: 'deleteSession',
  method: 'DELETE',
  path: '/sessions/{id}',
  summary: 'End a session',
  params: z.object({ id: z.string() }),
  responses: { 200: deletedSessionsSchema },
  errors: ['not_found'],
});

export const deleteOtherSessions = dashboardOperation({
  id: 'deleteOtherSessions',
  method: 'DELETE',
  path: '/sessions',
  summary: 'End all sessions but this one',
  responses: { 200: deletedSessionsSchema },
  errors: [],
});

/** Ends all other sessions. */
export const setPassword = dashboardOperation({
  id: 'setPassword',
  method: 'PUT',
  path: '/password',
  summary: 'Set or change the password',
  body: objectBody({ current_password: passwordField.nullish(), new_password: newPasswordField }),
  responses: { 200: sessionSchema },
  errors: ['invalid_request', 'wrong_credentials'],
});
