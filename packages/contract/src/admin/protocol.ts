import { z } from 'zod';

/** The default of MAYFLY_DATA_DIR, for the service and for the command. */
export const defaultDataDir = '/var/lib/mayfly';

/** The service's own part of a data folder. */
export const serviceFolderName = 'service';

/** The unix socket of the admin API in the service's part of the data folder. Only root and the service can connect. */
export const adminSocketName = 'admin.sock';

/** Carries the name of the operator, for the audit trail. */
export const operatorHeader = 'x-mayfly-operator';

/** One operation of the admin API. */
export interface AdminOperation {
  /** The name in the audit trail, e.g. `accounts.suspend`. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Parameters are in braces. */
  readonly path: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly response: z.ZodType;
}

/** Preserves the exact types of an operation's schemas. */
export function adminOperation<const Op extends AdminOperation>(definition: Op): Op {
  return definition;
}

/** Path parameters of operations on one account. Not validated: a malformed address is reported as unknown. */
export const accountParameters = z.object({ email: z.string() });

/** The HTTP status of each admin error type. */
export const adminErrorTable = {
  invalid_request: 400,
  unknown_account: 404,
  unknown_key: 404,
  unknown_sandbox: 404,
  not_found: 404,
  email_taken: 409,
  ambiguous_key: 409,
  too_many_keys: 409,
  internal_error: 500,
} as const satisfies Readonly<Record<string, number>>;

export type AdminErrorType = keyof typeof adminErrorTable;

/** The body of every error. The type is an open string, so that this client understands a newer service. */
export const adminErrorBodySchema = z.object({ error: z.object({ type: z.string(), message: z.string() }) });

export type AdminErrorBody = z.infer<typeof adminErrorBodySchema>;
