import { describeFailedRules } from '@mayfly/contract';
import { type AdminOperation, adminErrorTable, operatorHeader } from '@mayfly/contract/admin';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { AccountError } from '../core/accounts/find-account.ts';
import type { AuditTrail, NewAuditEvent } from '../core/audit/audit-trail.ts';
import { ApiError } from '../core/errors/api-error.ts';
import type { AccountStore } from '../core/ports/store/account-store.ts';
import type { AuditActor, AuditResult } from '../core/ports/store/audit-store.ts';
import type { SandboxStore } from '../core/ports/store/sandbox-store.ts';

type Part = 'params' | 'query' | 'body';

type Output<Op, Name extends Part> = Op extends { readonly [Key in Name]: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : undefined;

/** The validated input of an operation, and who asks for it. */
type Input<Op> = { readonly [Name in Part]: Output<Op, Name> } & { readonly actor: AuditActor };

export type Handler<Op extends AdminOperation> = (input: Input<Op>) => Promise<z.output<Op['response']>>;

/** What recording an operation and whom it concerns needs. */
export interface RecordOperationNeeds {
  readonly store: { readonly accounts: AccountStore; readonly sandboxes: SandboxStore };
  readonly audit: AuditTrail;
}

/** Adds one operation. The handler receives only input that passed the operation's schemas; one that changes something runs only once the audit trail has recorded it. */
export function serveOperation<Op extends AdminOperation>(
  app: FastifyInstance,
  core: RecordOperationNeeds,
  operation: Op,
  handler: Handler<Op>,
): void {
  const { name, method, path, params = z.undefined(), query = z.undefined(), body = z.undefined() } = operation;
  const input = z.object({ params, query, body });
  app.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request) => {
      const { success, data, error } = input.safeParse({
        params: operation.params && request.params,
        query: operation.query && request.query,
        body: operation.body && (request.body ?? {}),
      });
      if (!success) throw new AccountError('invalid_request', describeFailedRules(error.issues));
      const actor = operatorOf(request);
      const event = {
        actor,
        action: name,
        details: detailsOf(data.body),
        requestId: null,
        ...(await subjectOf(core, data)),
      };
      const run = () => handler({ ...data, actor } as unknown as Input<Op>);
      return await (method === 'GET' ? noteRead(core, event, run) : core.audit.recordCommand(event, resultOf, run));
    },
  });
}

/** Records a command that only reads once it has ended. It need not be recorded before, because it changes nothing. */
async function noteRead<Result>(
  { audit }: RecordOperationNeeds,
  event: NewAuditEvent,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await run();
    audit.note(event, { status: 200, errorType: null });
    return result;
  } catch (error) {
    audit.note(event, resultOf(error));
    throw error;
  }
}

const unprintable = /[^\x21-\x7e]/g;

/** The operator as the command reports it. Only root reaches the socket, so the name is information, not authentication. */
function operatorOf({ headers }: FastifyRequest): AuditActor {
  const given = headers[operatorHeader];
  const name = typeof given === 'string' ? given.replace(unprintable, '?').slice(0, 64) : '';
  return { kind: 'operator', name: name === '' ? 'root' : name };
}

/** The body without the address of the account, which the event has elsewhere. No command is given a secret. */
function detailsOf(body: unknown): string | null {
  const { email: _, ...given } = z.looseObject({}).catch({}).parse(body);
  return Object.keys(given).length === 0 ? null : JSON.stringify(given);
}

/** Where operations name what they act on. */
const subjectSchema = z.object({
  params: z
    .object({ email: z.string().optional(), key: z.string().optional(), sandbox: z.string().optional() })
    .optional(),
  body: z.object({ email: z.string().optional() }).optional(),
});

/** What a command acts on, and the account that belongs to. */
async function subjectOf(
  { store }: RecordOperationNeeds,
  input: unknown,
): Promise<Pick<NewAuditEvent, 'accountId' | 'target'>> {
  const { params = {}, body = {} } = subjectSchema.parse(input);
  const email = params.email ?? body.email;
  const target = params.key ?? params.sandbox ?? email ?? null;
  const account = email === undefined ? undefined : await store.accounts.findByEmail(email);
  const sandbox = params.sandbox === undefined ? undefined : await store.sandboxes.read(params.sandbox);
  return { accountId: account?.id ?? sandbox?.accountId ?? null, target };
}

function resultOf(error: unknown): AuditResult {
  if (error instanceof AccountError) return { status: adminErrorTable[error.type], errorType: error.type };
  if (error instanceof ApiError) return { status: error.status, errorType: error.type };
  return { status: 500, errorType: 'internal_error' };
}
