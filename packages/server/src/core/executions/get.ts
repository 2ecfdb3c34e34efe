import type { Core } from '../context.ts';
import { notFound } from '../errors/api-error.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { ExecutionRecord } from '../ports/store/execution-store.ts';

/** One execution of the account. Other accounts' ids look unknown. */
export async function getExecution(core: Core, account: AccountRecord, id: string): Promise<ExecutionRecord> {
  const execution = await core.store.executions.find(account.id, id);
  if (execution === undefined) throw notFound('execution');
  return execution;
}
