import { isUtf8 } from 'node:buffer';
import type { Limits } from '@mayfly/contract';
import { type DeleteFileQuery, type FileEncoding, type ReadFileQuery, resolveFilePath } from '@mayfly/contract';
import type { HeldResult } from '../budgets/held-result.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { type GuestAgent, type GuestEntry, GuestRefusal } from '../ports/guest-agent.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { getSandbox, type ReadSandboxNeeds, requireRunning } from '../sandboxes/read.ts';
import type { BackgroundTasks } from '../scheduling/background-tasks.ts';
import { cannot, type FileTask, fileFailure } from './file-errors.ts';

/** What reading, writing and deleting the files of a sandbox needs. */
export interface FileNeeds extends ReadSandboxNeeds {
  readonly limits: Limits;
  readonly machines: MachineRegistry;
  readonly background: BackgroundTasks;
}

export interface FileRecord {
  readonly kind: 'file';
  readonly path: string;
  readonly encoding: FileEncoding;
  readonly content: Buffer;
}

export interface DirectoryRecord {
  readonly kind: 'directory';
  readonly path: string;
  /** Sorted by the bytes of their names. */
  readonly entries: readonly GuestEntry[];
}

export interface WrittenFileRecord {
  readonly sandboxId: string;
  readonly path: string;
  readonly sizeBytes: number;
}

export interface DeletedFileRecord {
  readonly sandboxId: string;
  readonly path: string;
}

/** A larger directory is not listed at all, so that nobody takes a part for the whole. */
const maxEntries = 50_000;
/** The memory of an entry besides its name, roughly. */
const entryOverheadBytes = 200;

/**
 * Reads a file, or lists a directory. Room for a large result is reserved in `held`, which the caller releases once it has sent the result.
 */
export async function readPath(
  core: FileNeeds,
  account: AccountRecord,
  sandboxId: string,
  query: ReadFileQuery,
  held: HeldResult,
): Promise<FileRecord | DirectoryRecord> {
  const path = absolutePath(query.path);
  const request = { account, sandboxId, path, held };
  const content = query.list ? undefined : await readFile(core, request);
  if (content === undefined) return listDirectory(core, request);
  held.shrinkTo(content.length);
  return { kind: 'file', path, encoding: encodingOf(content, query.encoding, path), content };
}

/** A path that can only name a directory. */
const namesDirectory = /(?:^|\/)\.{0,2}$/;

/** Writes a whole file. On failure the previous content stays. */
export async function writeFile(
  core: FileNeeds,
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

/** Deletes a file, a symbolic link itself, or a directory with its contents. */
export async function deleteFile(
  core: FileNeeds,
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

/** The content of a file; undefined if the path is a directory. */
function readFile(core: FileNeeds, { held, ...request }: ReadRequest): Promise<Buffer | undefined> {
  const { fileBytes } = core.limits;
  return withAgent(core, { ...request, task: 'read' }, async (agent) => {
    try {
      return await held.collect(() => agent.readFile(request.path, fileBytes, held.tryReserve));
    } catch (error) {
      if (error instanceof GuestRefusal && error.code === 'is_directory') return undefined;
      throw error;
    }
  });
}

async function listDirectory(core: FileNeeds, { held, ...request }: ReadRequest): Promise<DirectoryRecord> {
  const { path } = request;
  const { entries, truncated } = await withAgent(core, { ...request, task: 'list' }, (agent) =>
    held.collect(() => agent.listFiles(path, maxEntries, held.tryReserve)),
  );
  held.shrinkTo(entries.reduce((bytes, { name }) => bytes + name.length + entryOverheadBytes, 0));
  if (truncated) throw cannot('list_failed', { task: 'list', path }, `it has more than ${maxEntries} entries`);
  return { kind: 'directory', path, entries };
}

function encodingOf(content: Buffer, requested: FileEncoding | undefined, path: string): FileEncoding {
  if (requested === 'base64') return 'base64';
  if (isUtf8(content)) return 'utf8';
  if (requested === undefined) return 'base64';
  throw cannot('read_failed', { task: 'read', path }, 'it is not valid UTF-8. Use encoding=base64');
}

/** The absolute form of a validated path. */
function absolutePath(path: string): string {
  const absolute = resolveFilePath(path);
  if (absolute === undefined) throw new Error('the path was not validated');
  return absolute;
}

interface PathRequest {
  readonly account: AccountRecord;
  readonly sandboxId: string;
  /** Absolute. */
  readonly path: string;
}

interface ReadRequest extends PathRequest {
  readonly held: HeldResult;
}

interface FileRequest extends PathRequest {
  readonly task: FileTask;
}

/** Calls the agent of a running sandbox. The call continues, and shutdown waits for it, when the caller disconnects. */
async function withAgent<T>(
  core: FileNeeds,
  { account, sandboxId, task, path }: FileRequest,
  work: (agent: GuestAgent) => Promise<T>,
): Promise<T> {
  requireRunning(await getSandbox(core, account, sandboxId));
  try {
    const live = core.machines.get(sandboxId);
    const agent = await live.agent();
    return await core.background.track(live.whileAlive(work(agent)));
  } catch (error) {
    throw fileFailure(error, { task, path, fileBytes: core.limits.fileBytes });
  }
}
