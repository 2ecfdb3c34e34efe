import { describeFailedRules } from '@mayfly/contract';
import * as contract from '@mayfly/contract/admin';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { getLimits, type LimitChanges, setLimits } from '../core/accounts/account-limits.ts';
import { createKey, listKeys, revokeKey } from '../core/accounts/api-keys.ts';
import { AccountError, type AccountsContext } from '../core/accounts/find-account.ts';
import { addCredit, createAccount, getAccount, listAccounts, setSuspended } from '../core/accounts/manage-accounts.ts';
import { accountView, keyView, limitsView } from './admin-views.ts';

/** Adds all operations of the admin API. */
export function addAdminRoutes(app: FastifyInstance, core: AccountsContext): void {
  serve(app, contract.listAccounts, async () => ({
    object: 'list' as const,
    data: (await listAccounts(core)).map(accountView),
  }));
  serve(app, contract.getAccount, async ({ params }) => accountView(await getAccount(core, params.email)));
  serve(app, contract.createAccount, async ({ body }) => {
    const created = await createAccount(core, { email: body.email, creditMicroUsd: body.credit_usd });
    return { ...accountView(created), api_key_id: created.keyId, api_key: created.apiKey };
  });
  serve(app, contract.suspendAccount, async ({ params }) => accountView(await setSuspended(core, params.email, true)));
  serve(app, contract.resumeAccount, async ({ params }) => accountView(await setSuspended(core, params.email, false)));
  serve(app, contract.addCredit, async ({ params, body }) =>
    accountView(await addCredit(core, params.email, { amountMicroUsd: body.usd, note: body.note })),
  );

  serve(app, contract.getLimits, async ({ params }) => limitsView(await getLimits(core, params.email)));
  serve(app, contract.setLimits, async ({ params, body }) =>
    limitsView(await setLimits(core, params.email, limitChangesOf(body))),
  );

  serve(app, contract.listKeys, async ({ params }) => ({
    object: 'list' as const,
    data: (await listKeys(core, params.email)).map(keyView),
  }));
  serve(app, contract.createKey, async ({ params }) => {
    const created = await createKey(core, params.email);
    return { ...keyView(created), api_key: created.apiKey };
  });
  serve(app, contract.revokeKey, async ({ params }) => keyView(await revokeKey(core, params.email, params.key)));
}

function limitChangesOf(body: contract.SetLimitsBody): LimitChanges {
  return Object.fromEntries(
    contract.accountLimitFieldNames.map((field) => [contract.accountLimitFields[field], body[field]]),
  );
}

type Output<Op, Part extends 'params' | 'body'> = Op extends { readonly [Name in Part]: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : undefined;

/** The validated input of an operation. */
interface Input<Op> {
  readonly params: Output<Op, 'params'>;
  readonly body: Output<Op, 'body'>;
}

/** Adds one operation. The handler receives only input that passed the operation's schemas. */
function serve<Op extends contract.AdminOperation>(
  app: FastifyInstance,
  operation: Op,
  handler: (input: Input<Op>) => Promise<z.output<Op['response']>>,
): void {
  const { method, path, params = z.undefined(), body = z.undefined() } = operation;
  const input = z.object({ params, body });
  app.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request) => {
      const { success, data, error } = input.safeParse({
        params: operation.params && request.params,
        body: operation.body && (request.body ?? {}),
      });
      if (!success) throw new AccountError('invalid_request', describeFailedRules(error.issues));
      return await handler(data as Input<Op>);
    },
  });
}
