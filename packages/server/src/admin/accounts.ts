import * as contract from '@mayfly/contract/admin/accounts.ts';
import type { FastifyInstance } from 'fastify';
import type { AccountsContext } from '../core/accounts/accounts-context.ts';
import { addCredit } from '../core/accounts/add-credit.ts';
import { createAccount } from '../core/accounts/create-account.ts';
import { getAccount } from '../core/accounts/get-account.ts';
import { listAccounts } from '../core/accounts/list-accounts.ts';
import { setSuspended } from '../core/accounts/suspend-account.ts';
import { serve } from './serve.ts';
import { accountView } from './views.ts';

/** Accounts: list, create, suspend, resume, credit. */
export function accountRoutes(app: FastifyInstance, core: AccountsContext): void {
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
}
