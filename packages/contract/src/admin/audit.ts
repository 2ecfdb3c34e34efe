import { z } from 'zod';
import { adminOperation } from './protocol.ts';

/** One event of the audit trail. */
const auditEventSchema = z.object({
  object: z.literal('audit_event'),
  id: z.string(),
  at: z.iso.datetime(),
  /** The API key, or null for others. */
  key_id: z.string().nullable(),
  /** The session of the dashboard, or null for others and for attempts to sign in that failed. */
  session_id: z.string().nullable(),
  /** The operator, or null for calls. */
  operator: z.string().nullable(),
  source_address: z.string().nullable(),
  /** The account that acted, or that an operator acted on. */
  account_id: z.string().nullable(),
  /** Null if the account is unknown. */
  email: z.string().nullable(),
  action: z.string(),
  target: z.string().nullable(),
  /** What an operator's command was given, as JSON, e.g. the credit. */
  details: z.string().nullable(),
  request_id: z.string().nullable(),
  /** An HTTP status; null if the service died before the result was recorded. */
  status: z.int().nullable(),
  error_type: z.string().nullable(),
});

export type AuditEvent = z.infer<typeof auditEventSchema>;

/** Newest first. */
const auditListSchema = z.object({ object: z.literal('list'), data: z.array(auditEventSchema) });

export type AuditList = z.infer<typeof auditListSchema>;

const maxEvents = 10_000;
const limitError = `limit must be an integer from 1 to ${maxEvents}`;
const sinceError = 'since must be a date-time such as 2026-01-02T03:04:05Z, or a date';

/** Values arrive as text, because they are in the URL. */
const auditQuery = z.object({
  email: z.string().optional(),
  target: z.string().optional(),
  since: z
    .union([z.iso.datetime({ offset: true }), z.iso.date()], { error: sinceError })
    .transform((text) => Date.parse(text))
    .optional(),
  limit: z
    .string()
    .regex(/^\d{1,5}$/, { error: limitError, abort: true })
    .transform(Number)
    .pipe(z.number().min(1, { error: limitError }).max(maxEvents, { error: limitError }))
    .default(100),
});

export const listAuditEvents = adminOperation({
  name: 'audit.list',
  method: 'GET',
  path: '/audit',
  query: auditQuery,
  response: auditListSchema,
});
