import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import type { GuestEntry } from '../ports/guest-agent.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { showPath } from './show-path.ts';
import { withAgent } from './with-agent.ts';

/** A directory with more names is not listed at all: nobody should take a part for the whole. */
const maxEntries = 50_000;

export interface DirectoryRecord {
  readonly kind: 'directory';
  readonly path: string;
  /** Sorted by the bytes of their names. */
  readonly entries: readonly GuestEntry[];
}

/** The names in a directory, by its absolute path. */
export async function listDirectory(
  core: Core,
  account: AccountRecord,
  sandboxId: string,
  path: string,
): Promise<DirectoryRecord> {
  const { entries, truncated } = await withAgent(core, { account, sandboxId, task: 'list', path }, (agent) =>
    agent.listFiles(path, maxEntries),
  );
  if (truncated) {
    throw new ApiError('list_failed', `cannot list ${showPath(path)}: it has more than ${maxEntries} entries`);
  }
  return { kind: 'directory', path, entries };
}
