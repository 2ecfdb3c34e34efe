import { requestIdPattern } from '../request-id.ts';
import type { HeaderObject, JsonSchema, Reference } from './types.ts';

const count: JsonSchema = { type: 'integer', minimum: 0 };

/** The headers of answers, by the name of their component. */
export const headerComponents = {
  RequestId: {
    description: 'The id of the request in the logs of the service.',
    required: true,
    schema: { type: 'string', pattern: requestIdPattern.source },
  },
  RateLimitLimit: { description: 'How many requests the current window takes.', required: true, schema: count },
  RateLimitRemaining: { description: 'How many of them are left.', required: true, schema: count },
  RateLimitReset: {
    description: 'Seconds until the window starts anew.',
    required: true,
    schema: { ...count, maximum: 60 },
  },
  RetryAfter: {
    description: 'Seconds to wait before trying again.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
} as const satisfies Readonly<Record<string, HeaderObject>>;

function header(name: keyof typeof headerComponents): Reference {
  return { $ref: `#/components/headers/${name}` };
}

/** On every answer. */
export const commonHeaders = {
  'X-Request-Id': header('RequestId'),
  'RateLimit-Limit': header('RateLimitLimit'),
  'RateLimit-Remaining': header('RateLimitRemaining'),
  'RateLimit-Reset': header('RateLimitReset'),
};

/** On a 429 and on nothing else. */
export const retryHeaders = { 'Retry-After': header('RetryAfter') };

/** On a 201 that has a place of its own. */
export function locationHeaders(description: string): Readonly<Record<string, HeaderObject>> {
  return { Location: { description, required: true, schema: { type: 'string', format: 'uri' } } };
}
