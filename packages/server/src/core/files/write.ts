import type { Core } from '../context.ts';
import { GuestRefusal } from '../ports/guest-agent.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { absolutePath } from './absolute-path.ts';
import { withAgent } from './with-agent.ts';

export interface WrittenFileRecord {
  readonly sandboxId: string;
  readonly path: string;
  readonly sizeBytes: number;
}

/** A path of which only a directory can be meant. */
const namesDirectory = /(?:^|\/)\.{0,2}$/;

/** Writes a whole file; on failure what was there stays. */
export async function writeFile(
  core: Core,
  account: AccountRecord,
  sandboxId: string,
  file: { readonly path: string; readonly content: Buffer },
): Promise<WrittenFileRecord> {
  const path = absolutePath(file.path);
  const { sizeBytes } = await withAgent(core, { account, sandboxId, task: 'write', path }, async (agent) => {
    if (namesDirectory.test(file.path)) throw new GuestRefusal('is_directory', 'the path names a directory');
    return agent.writeFile(path, file.content, core.limits.fileBytes);
  });
  return { sandboxId, path, sizeBytes };
}
