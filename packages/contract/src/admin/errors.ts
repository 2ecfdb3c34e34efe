import { z } from 'zod';

/** Why an administrative request was refused, with the HTTP status it comes with. */
export const adminErrorTable = {
  invalid_request: 400,
  unknown_account: 404,
  unknown_key: 404,
  not_found: 404,
  email_taken: 409,
  ambiguous_key: 409,
  too_many_keys: 409,
  internal_error: 500,
} as const satisfies Readonly<Record<string, number>>;

export type AdminErrorType = keyof typeof adminErrorTable;

/** The body of every refusal. The type is an open string, so that a newer service is still understood. */
export const adminErrorBodySchema = z.object({ error: z.object({ type: z.string(), message: z.string() }) });

export type AdminErrorBody = z.infer<typeof adminErrorBodySchema>;
