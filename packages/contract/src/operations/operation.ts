import { z } from 'zod';
import type { ErrorType } from '../error-table.ts';
import { executionId, fitsCodePoints, sandboxId, snapshotId } from '../fields.ts';
import { fixedLimits } from '../limits.ts';

/** One API operation: its request, its responses and its errors. */
export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the version prefix, with parameters in braces. */
  readonly path: string;
  /** The section of the reference. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodType;
  readonly body?: z.ZodType;
  /** Which body size limit applies: the general one or the limit of the file routes. */
  readonly bodySize?: 'general' | 'file';
  /** The body of each success status. */
  readonly responses: Readonly<Record<number, z.ZodType>>;
  /** The description of each success status. */
  readonly outcomes: Readonly<Record<number, string>>;
  /** Whether a ticket in the query, see `ticketParameter`, can take the place of the key. */
  readonly acceptsTicket?: true;
  /** The events of a 200 that is a `text/event-stream`. */
  readonly events?: EventStream;
  /**
   * When the 200 is a `text/event-stream` instead of its JSON. Published as an extension, because of two media types generated clients make one
   * response that is either.
   */
  readonly eventsWhen?: string;
  /** The description of the Location header of a 201, if it has one. */
  readonly location?: string;
  /** In addition to `commonErrors`. */
  readonly errors: readonly ErrorType[];
}

/** The events of a stream. */
export interface EventStream {
  readonly description: string;
  /** A short stream, as it is sent. */
  readonly example: string;
}

/** The errors that every operation can return. */
export const commonErrors = [
  'unauthorized',
  'invalid_api_key',
  'account_suspended',
  'rate_limit_exceeded',
  'request_error',
  'internal_error',
] as const satisfies readonly ErrorType[];

/** Preserves the exact types of an operation's schemas. */
export function operation<const Op extends Operation>(definition: Op): Op {
  return definition;
}

// Ids in paths are not validated: an id of any form that names nothing gives 404, not 400.

export const sandboxParameters = z.object({ id: sandboxId.describe('The sandbox id.') });

export const snapshotParameters = z.object({ id: snapshotId.describe('The snapshot id.') });

export const executionParameters = z.object({ id: executionId.describe('The execution id.') });

const { idempotencyKeyCharacters } = fixedLimits;
const keyError = `Idempotency-Key must be 1 to ${idempotencyKeyCharacters} characters`;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A header as its sender meant it. Node gives every byte as a character; a sender that uses others than ASCII encodes them as UTF-8. */
function asSent(header: string): string {
  const bytes = Uint8Array.from(header, (character) => character.charCodeAt(0));
  try {
    return utf8.decode(bytes);
  } catch {
    return header;
  }
}

/** The headers of an operation that can be repeated without creating something twice. */
export function idempotencyHeaders(description: string) {
  return z.looseObject({
    'idempotency-key': z
      .string({ error: keyError })
      .refine((key) => key !== '' && fitsCodePoints(asSent(key), idempotencyKeyCharacters), { error: keyError })
      .meta({ minLength: 1, maxLength: idempotencyKeyCharacters })
      .optional()
      .describe(description)
      .meta({ examples: ['nightly-build-4711'] }),
  });
}
