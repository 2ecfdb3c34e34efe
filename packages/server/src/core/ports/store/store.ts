import type { AccountStore } from './account-store.ts';
import type { ExecutionStore } from './execution-store.ts';
import type { LedgerStore } from './ledger-store.ts';
import type { OwnerStore } from './owner-store.ts';
import type { PreviewStore } from './preview-store.ts';
import type { RetentionStore } from './retention-store.ts';
import type { SandboxStore } from './sandbox-store.ts';

/** Everything that outlives the process. */
export interface Store {
  readonly accounts: AccountStore;
  readonly sandboxes: SandboxStore;
  readonly executions: ExecutionStore;
  readonly ledger: LedgerStore;
  readonly previews: PreviewStore;
  readonly retention: RetentionStore;
  readonly owner: OwnerStore;
  close(): Promise<void>;
}
