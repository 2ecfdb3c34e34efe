import { ApiError, notFound } from '../errors/api-error.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';

/** Refuses everything but a running sandbox: 404 once it is deleted, else 409 with its status. */
export function requireRunning(sandbox: SandboxRecord): void {
  if (sandbox.status === 'running') return;
  if (sandbox.status === 'deleted') throw notFound('sandbox');
  const reason = sandbox.statusReason === null ? '' : ` (${sandbox.statusReason})`;
  throw new ApiError('sandbox_not_running', `the sandbox is ${sandbox.status}${reason}, not running`);
}
