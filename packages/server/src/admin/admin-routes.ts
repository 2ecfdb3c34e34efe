import * as contract from '@mayfly/contract/admin';
import type { FastifyInstance } from 'fastify';
import { type AccountLimitsNeeds, getLimits, type LimitChanges, setLimits } from '../core/accounts/account-limits.ts';
import { createKey, listKeys, type ManageKeysNeeds, revokeKey } from '../core/accounts/api-keys.ts';
import {
  addCredit,
  createAccount,
  getAccount,
  listAccounts,
  type ManageAccountsNeeds,
  setSuspended,
} from '../core/accounts/manage-accounts.ts';
import type { AuditTrail } from '../core/audit/audit-trail.ts';
import {
  type DestroySandboxNeeds,
  destroySandbox,
  destroySandboxesOf,
  listOpenSandboxes,
  type OwnedSandbox,
  type SuspendNeeds,
  suspendAccount,
} from '../core/operators/operator-sandboxes.ts';
import type { AuditActor } from '../core/ports/store/audit-store.ts';
import { createLoginLink, invite, type ManageSignInsNeeds, resetSignIn } from '../core/sign-in/links.ts';
import {
  type AuditListNeeds,
  accountView,
  auditListView,
  keyView,
  limitsView,
  sandboxListView,
  sandboxView,
  signInLinkView,
} from './admin-views.ts';
import { type Handler, type RecordOperationNeeds, serveOperation } from './serve-operation.ts';

/** What operators' commands on accounts and sandboxes need. */
type CommandNeeds = ManageAccountsNeeds &
  AccountLimitsNeeds &
  ManageKeysNeeds &
  ManageSignInsNeeds &
  SuspendNeeds &
  DestroySandboxNeeds & { readonly audit: AuditTrail };

/** What the admin API needs of the core. */
export type AdminNeeds = CommandNeeds & RecordOperationNeeds & AuditListNeeds;

/** Where the API is. Undefined while it does not take requests. */
export interface ServiceUrls {
  /** For processes on this host. */
  readonly local: () => string | undefined;
  /** For everybody else. */
  readonly public: () => string | undefined;
}

/** Adds all operations of the admin API. */
export function addAdminRoutes(app: FastifyInstance, core: AdminNeeds, urls: ServiceUrls): void {
  const serve = <Op extends contract.AdminOperation>(operation: Op, handler: Handler<Op>) =>
    serveOperation(app, core, operation, handler);
  addAccountRoutes(serve, core);
  addSignInRoutes(serve, core, urls);
  addSandboxRoutes(serve, core);
  serve(contract.getService, async () => ({ object: 'service' as const, url: urls.local() ?? null }));
  serve(contract.listAuditEvents, async ({ query }) => await auditListView(core, query));
}

type Serve = <Op extends contract.AdminOperation>(operation: Op, handler: Handler<Op>) => void;

function addAccountRoutes(serve: Serve, core: CommandNeeds): void {
  serve(contract.listAccounts, async () => ({
    object: 'list' as const,
    data: (await listAccounts(core)).map(accountView),
  }));
  serve(contract.getAccount, async ({ params }) => accountView(await getAccount(core, params.email)));
  serve(contract.createAccount, async ({ body }) => {
    const created = await createAccount(core, { email: body.email, creditMicroUsd: body.credit_usd });
    return { ...accountView(created), api_key_id: created.keyId, api_key: created.apiKey };
  });
  serve(contract.suspendAccount, async ({ params: { email }, body: { destroy }, actor }) => {
    const suspended = await suspendAccount(core, email);
    const destroyed = destroy
      ? await destroySandboxesOf(core, email, (owned) => noteDestroyed(core, actor, owned))
      : [];
    return { ...accountView(suspended), destroyed: destroyed.map(sandboxView) };
  });
  serve(contract.resumeAccount, async ({ params }) => accountView(await setSuspended(core, params.email, false)));
  serve(contract.addCredit, async ({ params, body }) =>
    accountView(await addCredit(core, params.email, { amountMicroUsd: body.usd, note: body.note })),
  );

  serve(contract.getLimits, async ({ params }) => limitsView(await getLimits(core, params.email)));
  serve(contract.setLimits, async ({ params, body }) =>
    limitsView(await setLimits(core, params.email, limitChangesOf(body))),
  );

  serve(contract.listKeys, async ({ params }) => ({
    object: 'list' as const,
    data: (await listKeys(core, params.email)).map(keyView),
  }));
  serve(contract.createKey, async ({ params, body }) => {
    const created = await createKey(core, params.email, body.name);
    return { ...keyView(created), api_key: created.apiKey };
  });
  serve(contract.revokeKey, async ({ params }) => keyView(await revokeKey(core, params.email, params.key)));
}

function addSignInRoutes(serve: Serve, core: CommandNeeds, urls: ServiceUrls): void {
  serve(contract.createLoginLink, async ({ params }) =>
    signInLinkView(await createLoginLink(core, params.email), urls.public()),
  );
  serve(contract.inviteAccount, async ({ body }) => {
    const invited = await invite(core, { email: body.email, creditMicroUsd: body.credit_usd });
    return signInLinkView(invited, urls.public(), invited.isNew);
  });
  serve(contract.resetPassword, async ({ params }) =>
    signInLinkView(await resetSignIn(core, params.email), urls.public()),
  );
}

function addSandboxRoutes(serve: Serve, core: CommandNeeds): void {
  serve(contract.listSandboxes, async () => sandboxListView(await listOpenSandboxes(core)));
  serve(contract.listSandboxesOfAccount, async ({ params }) =>
    sandboxListView(await listOpenSandboxes(core, params.email)),
  );
  serve(contract.destroySandbox, async ({ params }) => sandboxView(await destroySandbox(core, params.sandbox)));
  serve(contract.destroySandboxesOfAccount, async ({ params, actor }) => {
    return sandboxListView(await destroySandboxesOf(core, params.email, (owned) => noteDestroyed(core, actor, owned)));
  });
}

/** Adds an event per sandbox to the command's event, so that the trail of each sandbox shows its end. */
function noteDestroyed({ audit }: CommandNeeds, actor: AuditActor, { sandbox }: OwnedSandbox): void {
  const { id: target, accountId } = sandbox;
  const event = { actor, accountId, action: contract.destroySandbox.name, target, details: null, requestId: null };
  audit.note(event, { status: 200, errorType: null });
}

function limitChangesOf(body: contract.SetLimitsBody): LimitChanges {
  return Object.fromEntries(
    contract.accountLimitFieldNames.map((field) => [contract.accountLimitFields[field], body[field]]),
  );
}
