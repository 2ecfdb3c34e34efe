import { type ErrorBody, type ErrorEntry, type ErrorType, errorTable } from '../error-table.ts';

type DashboardErrorEntry = Pick<ErrorEntry, 'cause' | 'hint'> & { readonly status: number };

/** The error types of /app/api that /v1 does not have. */
export const dashboardErrorTable = {
  wrong_credentials: {
    status: 401,
    cause: 'No account has this e-mail address and password. The answer does not say which of them is wrong.',
    hint: 'Check both, or ask the operator for a sign-in link.',
  },
  code_required: {
    status: 401,
    cause: 'The password is right and the account has two-factor authentication, but the request has no code.',
    hint: 'Send the same request with a code of the authenticator app or a recovery code.',
  },
  wrong_code: {
    status: 401,
    cause: 'The code is wrong, has expired or was used already.',
    hint: 'Wait for the next code of the authenticator app, or use a recovery code.',
  },
  link_invalid: {
    status: 401,
    cause: 'The sign-in link is unknown, has expired, was used already or was replaced by a newer one.',
    hint: 'Ask the operator for a new link.',
  },
  cross_origin_request: {
    status: 403,
    cause:
      'The request comes from a page of another origin, or a request that changes something does not say its origin.',
    hint: 'Use the dashboard at its own address. Programs use /v1 with an API key.',
  },
  two_factor_enabled: {
    status: 409,
    cause: 'The account has two-factor authentication already.',
    hint: 'Disable it first, with a code.',
  },
  two_factor_disabled: {
    status: 409,
    cause: 'The account has no two-factor authentication, or its set-up was not started.',
    hint: 'Start the set-up first.',
  },
} as const satisfies Readonly<Record<string, DashboardErrorEntry>>;

/** An error type of /app/api: its own, or one of /v1. `unauthorized` means that there is no session: sign in. */
export type DashboardErrorType = ErrorType | keyof typeof dashboardErrorTable;

/** The body of every error of /app/api: the one of /v1, with more types. */
export interface DashboardErrorBody {
  readonly error: { readonly type: DashboardErrorType; readonly message: string };
  readonly request_id: ErrorBody['request_id'];
}

/** The most common HTTP status of an error type. */
export function dashboardErrorStatus(type: DashboardErrorType): number {
  return type in dashboardErrorTable
    ? dashboardErrorTable[type as keyof typeof dashboardErrorTable].status
    : errorTable[type as ErrorType].statuses[0];
}
