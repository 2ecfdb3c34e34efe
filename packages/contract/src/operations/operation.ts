import type { z } from 'zod';
import type { ErrorType } from '../errors/error-table.ts';

/** One call of the interface: what it takes, what it answers, how it can fail. */
export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the version prefix, with parameters in braces. */
  readonly path: string;
  /** The part of the reference it belongs to. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodType;
  readonly body?: z.ZodType;
  /** How large its body may be: the general limit or that of the file routes. */
  readonly bodySize?: 'general' | 'file';
  /** The body of each status that is no error. */
  readonly responses: Readonly<Record<number, z.ZodType>>;
  /** What each of these statuses means. */
  readonly outcomes: Readonly<Record<number, string>>;
  /** What the Location header of a 201 names, where there is one. */
  readonly location?: string;
  /** Besides the errors that every operation has. */
  readonly errors: readonly ErrorType[];
}

/** The errors that every operation can answer. */
export const commonErrors = [
  'unauthorized',
  'invalid_api_key',
  'account_suspended',
  'rate_limit_exceeded',
  'request_error',
  'internal_error',
] as const satisfies readonly ErrorType[];

/** Keeps the exact types of an operation's schemas. */
export function operation<const Op extends Operation>(definition: Op): Op {
  return definition;
}
