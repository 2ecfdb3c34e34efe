import type { z } from 'zod';

/** One call of the administrative interface. */
export interface AdminOperation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With parameters in braces. */
  readonly path: string;
  readonly params?: z.ZodType;
  readonly body?: z.ZodType;
  readonly response: z.ZodType;
}

/** Keeps the exact types of an operation's schemas. */
export function adminOperation<const Op extends AdminOperation>(definition: Op): Op {
  return definition;
}
