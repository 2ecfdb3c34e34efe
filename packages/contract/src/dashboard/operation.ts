import type { z } from 'zod';
import type { DashboardErrorType } from './errors.ts';

/** All routes of the dashboard are below this path, its own and the mounted ones of /v1. */
export const dashboardApiPrefix = '/app/api';

/** One operation that only the dashboard has. */
export interface DashboardOperation {
  /** The name in logs and in the audit trail. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `dashboardApiPrefix`, with parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** The body of each success status. */
  readonly responses: Readonly<Record<number, z.ZodType>>;
  /** Whether it is for people who are not signed in. All others answer 401 `unauthorized` without a session. */
  readonly signedOut?: true;
  /** In addition to those that every operation can return: see `commonDashboardErrors`. */
  readonly errors: readonly DashboardErrorType[];
}

/** The errors that every operation below /app/api can return, including the errors of /v1. */
export const commonDashboardErrors = [
  'unauthorized',
  'cross_origin_request',
  'account_suspended',
  'rate_limit_exceeded',
  'request_error',
  'internal_error',
] as const satisfies readonly DashboardErrorType[];

/** Preserves the exact types of an operation's schemas. */
export function dashboardOperation<const Op extends DashboardOperation>(definition: Op): Op {
  return definition;
}
