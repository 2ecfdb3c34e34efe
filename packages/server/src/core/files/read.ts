import { isUtf8 } from 'node:buffer';
import type { FileEncoding, ReadFileQuery } from '@mayfly/contract';
import type { Core } from '../context.ts';
import { ApiError } from '../errors/api-error.ts';
import { GuestRefusal } from '../ports/guest-agent.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { absolutePath } from './absolute-path.ts';
import { type DirectoryRecord, listDirectory } from './list.ts';
import { showPath } from './show-path.ts';
import { withAgent } from './with-agent.ts';

export interface FileRecord {
  readonly kind: 'file';
  readonly path: string;
  readonly encoding: FileEncoding;
  readonly content: Buffer;
}

/** A file with its content, or a directory with its names. */
export async function readPath(
  core: Core,
  account: AccountRecord,
  sandboxId: string,
  query: ReadFileQuery,
): Promise<FileRecord | DirectoryRecord> {
  const path = absolutePath(query.path);
  const content = query.list ? undefined : await readFile(core, account, sandboxId, path);
  if (content === undefined) return listDirectory(core, account, sandboxId, path);
  return { kind: 'file', path, encoding: encodingOf(content, query.encoding, path), content };
}

/** The bytes of a file; undefined if it is a directory. */
function readFile(core: Core, account: AccountRecord, sandboxId: string, path: string): Promise<Buffer | undefined> {
  return withAgent(core, { account, sandboxId, task: 'read', path }, async (agent) => {
    try {
      return (await agent.readFile(path, core.limits.fileBytes)).content;
    } catch (error) {
      if (error instanceof GuestRefusal && error.code === 'is_directory') return undefined;
      throw error;
    }
  });
}

function encodingOf(content: Buffer, wanted: FileEncoding | undefined, path: string): FileEncoding {
  if (wanted === 'base64') return 'base64';
  if (isUtf8(content)) return 'utf8';
  if (wanted === undefined) return 'base64';
  throw new ApiError('read_failed', `cannot read ${showPath(path)}: it is not UTF-8; use encoding=base64`);
}
