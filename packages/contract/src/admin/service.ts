import { z } from 'zod';
import { adminOperation } from './protocol.ts';

/** The service that this socket belongs to. */
const adminServiceSchema = z.object({
  object: z.literal('service'),
  /** Where processes on this host reach the API, without a trailing slash. Null while it does not take requests. */
  url: z.string().nullable(),
});

export const getService = adminOperation({
  name: 'service.get',
  method: 'GET',
  path: '/service',
  response: adminServiceSchema,
});
