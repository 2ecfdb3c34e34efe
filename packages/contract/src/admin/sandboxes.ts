import { z } from 'zod';
import { sandboxStatuses } from '../resources/sandbox.ts';
import { sizeNames } from '../sizes.ts';
import { accountParameters, adminOperation } from './protocol.ts';

/** A sandbox as an operator sees it. */
export const adminSandboxSchema = z.object({
  object: z.literal('sandbox'),
  id: z.string(),
  account_id: z.string(),
  email: z.string(),
  name: z.string().nullable(),
  size: z.enum(sizeNames),
  status: z.enum(sandboxStatuses),
  status_reason: z.string().nullable(),
  /** The machine that serves it, as in the service's log and the data folder; null until it is ready. */
  machine_id: z.string().nullable(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
});

export type AdminSandbox = z.infer<typeof adminSandboxSchema>;

/** Sandboxes that have not ended, newest first. */
const adminSandboxListSchema = z.object({ object: z.literal('list'), data: z.array(adminSandboxSchema) });

export type AdminSandboxList = z.infer<typeof adminSandboxListSchema>;

export const listSandboxes = adminOperation({
  name: 'sandboxes.list',
  method: 'GET',
  path: '/sandboxes',
  response: adminSandboxListSchema,
});

export const listSandboxesOfAccount = adminOperation({
  name: 'sandboxes.list',
  method: 'GET',
  path: '/accounts/{email}/sandboxes',
  params: accountParameters,
  response: adminSandboxListSchema,
});

export const destroySandbox = adminOperation({
  name: 'sandboxes.destroy',
  method: 'DELETE',
  path: '/sandboxes/{sandbox}',
  params: z.object({ sandbox: z.string() }),
  response: adminSandboxSchema,
});

export const destroySandboxesOfAccount = adminOperation({
  name: 'sandboxes.destroy',
  method: 'DELETE',
  path: '/accounts/{email}/sandboxes',
  params: accountParameters,
  response: adminSandboxListSchema,
});
