import type { DeleteFileQuery } from '@mayfly/contract';
import type { Core } from '../context.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { absolutePath } from './absolute-path.ts';
import { withAgent } from './with-agent.ts';

export interface DeletedFileRecord {
  readonly sandboxId: string;
  readonly path: string;
}

/** Deletes a file, a symbolic link itself, or a directory with all that is in it. */
export async function deleteFile(
  core: Core,
  account: AccountRecord,
  sandboxId: string,
  query: DeleteFileQuery,
): Promise<DeletedFileRecord> {
  const path = absolutePath(query.path);
  await withAgent(core, { account, sandboxId, task: 'delete', path }, (agent) =>
    agent.deleteFile(path, query.recursive),
  );
  return { sandboxId, path };
}
