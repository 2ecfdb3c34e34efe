import type { AccountLimits } from '@mayfly/contract';
import {
  type AccountLimitField,
  type AdminAccount,
  type AdminKey,
  type AdminLimits,
  type AdminSandbox,
  type AdminSandboxList,
  type AuditList,
  accountLimitFields,
  type SignInLink,
} from '@mayfly/contract/admin';
import { signInLinkUrl } from '@mayfly/contract/dashboard';
import type { LimitsInForce } from '../core/accounts/account-limits.ts';
import type { OwnedKey } from '../core/accounts/api-keys.ts';
import type { FindAccountNeeds } from '../core/accounts/find-account.ts';
import { AccountError, findAccount } from '../core/accounts/find-account.ts';
import type { AccountWithBalance } from '../core/accounts/manage-accounts.ts';
import type { AuditTrail } from '../core/audit/audit-trail.ts';
import { usdOf } from '../core/money/balance.ts';
import type { OwnedSandbox } from '../core/operators/operator-sandboxes.ts';
import type { AuditStore } from '../core/ports/store/audit-store.ts';
import type { CreatedLink } from '../core/sign-in/links.ts';

/** An account as an operator sees it. */
export function accountView({ account, balanceMicroUsd }: AccountWithBalance): AdminAccount {
  return {
    object: 'account',
    id: account.id,
    email: account.email,
    status: account.suspended ? 'suspended' : 'active',
    balance_usd: usdOf(balanceMicroUsd),
    created_at: isoOf(account.createdAtMs),
  };
}

/** A key as an operator sees it. */
export function keyView({ account, key }: OwnedKey): AdminKey {
  return {
    object: 'api_key',
    id: key.id,
    email: account.email,
    name: key.name,
    prefix: key.prefix,
    status: key.revokedAtMs === null ? 'active' : 'revoked',
    created_at: isoOf(key.createdAtMs),
    last_used_at: key.lastUsedAtMs === null ? null : isoOf(key.lastUsedAtMs),
    revoked_at: key.revokedAtMs === null ? null : isoOf(key.revokedAtMs),
  };
}

/** A sign-in link as an operator passes it on. Throws an AccountError while nobody knows where the service is. */
export function signInLinkView(
  { account, token, expiresAtMs }: CreatedLink,
  publicUrl: string | undefined,
  isNew = false,
): SignInLink {
  if (publicUrl === undefined) {
    throw new AccountError('invalid_request', 'The service is starting, and has no address yet. Try again.');
  }
  return {
    object: 'sign_in_link',
    email: account.email,
    url: signInLinkUrl(publicUrl, token),
    expires_at: isoOf(expiresAtMs),
    account_created: isNew,
  };
}

/** An account's limits as an operator sees them. */
export function limitsView({ account, limits }: LimitsInForce): AdminLimits {
  return {
    object: 'account_limits',
    account_id: account.id,
    email: account.email,
    limits: namedLimits(limits) as AdminLimits['limits'],
    own: namedLimits(account.limits),
  };
}

/** A sandbox as an operator sees it. */
export function sandboxView({ account, sandbox }: OwnedSandbox): AdminSandbox {
  return {
    object: 'sandbox',
    id: sandbox.id,
    account_id: account.id,
    email: account.email,
    name: sandbox.name,
    size: sandbox.size,
    status: sandbox.status,
    status_reason: sandbox.statusReason,
    machine_id: sandbox.machineId,
    created_at: isoOf(sandbox.createdAtMs),
    expires_at: sandbox.expiresAtMs === null ? null : isoOf(sandbox.expiresAtMs),
  };
}

export function sandboxListView(sandboxes: readonly OwnedSandbox[]): AdminSandboxList {
  return { object: 'list', data: sandboxes.map(sandboxView) };
}

/** What listing the audit trail needs. */
export type AuditListNeeds = FindAccountNeeds & {
  readonly store: { readonly audit: AuditStore };
  readonly audit: AuditTrail;
};

interface AuditQuery {
  readonly email?: string | undefined;
  readonly target?: string | undefined;
  /** Unix milliseconds. */
  readonly since?: number | undefined;
  readonly limit: number;
}

/** The newest events of the audit trail, including those that were not written yet. */
export async function auditListView(
  core: AuditListNeeds,
  { email, target, since, limit }: AuditQuery,
): Promise<AuditList> {
  await core.audit.flush();
  const account = email === undefined ? undefined : await findAccount(core, email);
  const events = await core.store.audit.list({ account, target, sinceMs: since, limit });
  const emails = new Map((await core.store.accounts.list()).map(({ id, email: address }) => [id, address]));
  const data = events.map(({ id, atMs, actor, accountId, requestId, result, ...event }) => ({
    object: 'audit_event' as const,
    id,
    at: isoOf(atMs),
    key_id: actor.kind === 'api_key' ? actor.keyId : null,
    session_id: actor.kind === 'session' ? actor.sessionId : null,
    operator: actor.kind === 'operator' ? actor.name : null,
    source_address: actor.kind === 'operator' ? null : actor.sourceAddress,
    account_id: accountId,
    email: emails.get(accountId ?? '') ?? null,
    action: event.action,
    target: event.target,
    details: event.details,
    request_id: requestId,
    status: result?.status ?? null,
    error_type: result?.errorType ?? null,
  }));
  return { object: 'list', data };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function namedLimits(limits: Partial<AccountLimits>): Partial<Record<AccountLimitField, number>> {
  const named = Object.entries(accountLimitFields).map(([field, name]) => [field, limits[name]]);
  return Object.fromEntries(named.filter(([, value]) => value !== undefined));
}
