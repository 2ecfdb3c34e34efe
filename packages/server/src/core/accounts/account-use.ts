import { fixedLimits, type Limits } from '@mayfly/contract';
import type { AccountRecord, AccountStore } from '../ports/store/account-store.ts';
import type { RateWindows } from '../windows/rate-windows.ts';
import { limitsOf } from './account-limits.ts';

/** What reading the limits of an account and their use needs. */
export interface AccountUseNeeds {
  readonly store: { readonly accounts: AccountStore };
  readonly limits: Limits;
  readonly windows: RateWindows;
  readonly terminals: { readonly places: { takenBy(accountId: string): number } };
  readonly streams: { countOf(accountId: string): number };
}

const mebibyte = 1024 ** 2;

/** The quotas of an account, how much of each is used now, and its rate windows. */
export async function getAccountUse(core: AccountUseNeeds, account: AccountRecord) {
  const limits = limitsOf(core.limits, account);
  const use = await core.store.accounts.use(account.id);
  return {
    maxTimeoutMinutes: limits.maxTimeoutMinutes,
    fileBytes: core.limits.fileBytes,
    sandboxes: { used: use.openSandboxes, limit: limits.concurrentSandboxes },
    snapshots: { used: use.snapshots, limit: limits.snapshots },
    snapshotBytes: { used: use.snapshotBytes, limit: limits.snapshotStorageMb * mebibyte },
    apiKeys: { used: use.activeKeys, limit: limits.apiKeys },
    storedOutputBytes: { used: use.storedOutputBytes, limit: limits.storedOutputMb * mebibyte },
    terminals: { used: core.terminals.places.takenBy(account.id), limit: fixedLimits.terminalsPerAccount },
    streams: { used: core.streams.countOf(account.id), limit: fixedLimits.streamsPerAccount },
    windows: core.windows.statesOf(account),
  };
}
