import {
  type Directory,
  defaultLimits,
  type Execution,
  type File as FileContent,
  type FileEncoding,
} from '@mayfly/contract';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { RequestFailure } from '../api/failure.ts';
import { request } from '../api/request.ts';
import { sandboxPath } from '../sandbox/queries.ts';
import { limitsQuery } from '../usage/queries.ts';
import { parentOf } from './paths.ts';
import type { Found } from './saving.ts';
import { isText } from './saving.ts';

/** Large files take a while over slow connections. */
const transferTimeoutMs = 5 * 60_000;
const commandTimeoutMs = 10 * 60_000;

function filesPath(sandboxId: string, path: string, more: Readonly<Record<string, string>> = {}): string {
  return `${sandboxPath(sandboxId)}/files?${new URLSearchParams({ path, ...more })}`;
}

/** What has the key of everything that is known of the files of a sandbox. */
export function filesKey(sandboxId: string): readonly string[] {
  return ['files', sandboxId];
}

/** The largest file that one request reads or writes; until the operator's limit is known, the usual one. */
export function useMaxFileBytes(): number {
  const { data } = useQuery({ ...limitsQuery, refetchInterval: false });
  return data?.per_sandbox.file_bytes ?? defaultLimits.fileBytes;
}

/** The entries of a folder. */
export function folderQuery(sandboxId: string, path: string) {
  return queryOptions({
    queryKey: [...filesKey(sandboxId), 'folder', path],
    queryFn: ({ signal }) => request<Directory>(filesPath(sandboxId, path, { list: 'true' }), { signal }),
  });
}

/** What a path leads to, through symbolic links: a file with its content, or a folder. Read again on every visit. */
export function contentQuery(sandboxId: string, path: string) {
  return queryOptions({
    queryKey: [...filesKey(sandboxId), 'content', path],
    queryFn: ({ signal }) =>
      request<FileContent | Directory>(filesPath(sandboxId, path), { signal, timeoutMs: transferTimeoutMs }),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

/** The bytes of a file that the service reads in one request. */
export async function readBytes(
  sandboxId: string,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const options = { signal, timeoutMs: transferTimeoutMs };
  const file = await request<FileContent>(filesPath(sandboxId, path, { encoding: 'base64' }), options);
  return Uint8Array.from(atob(file.content), (one) => one.charCodeAt(0));
}

/** What is in a file now, for deciding whether to save. */
export async function findText(sandboxId: string, path: string): Promise<Found> {
  try {
    const found = await request<FileContent | Directory>(filesPath(sandboxId, path), { timeoutMs: transferTimeoutMs });
    const isFileOfText = found.object === 'file' && found.encoding === 'utf8' && isText(found.content);
    return isFileOfText ? { kind: 'text', content: found.content } : { kind: 'other' };
  } catch (error) {
    if (error instanceof RequestFailure && error.type === 'not_found') return { kind: 'missing' };
    throw error;
  }
}

export async function writeText(sandboxId: string, path: string, content: string): Promise<void> {
  const body: { path: string; content: string; encoding: FileEncoding } = { path, content, encoding: 'utf8' };
  await request(`${sandboxPath(sandboxId)}/files`, { method: 'PUT', body, timeoutMs: transferTimeoutMs });
}

export async function deletePath(sandboxId: string, path: string, isFolder: boolean): Promise<void> {
  const more = { recursive: `${isFolder}` };
  await request(filesPath(sandboxId, path, more), { method: 'DELETE', timeoutMs: commandTimeoutMs });
}

/** A command that failed, with what it said. */
class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;

  constructor(exitCode: number, said: string) {
    super(said);
    this.exitCode = exitCode;
  }
}

const longestSaid = 500;

/**
 * Runs a shell command with paths in variables, so that no name can be taken for a part of it. Returns what it printed. Throws CommandFailure if it fails.
 * The API has no operation of its own for folders, moving and archives.
 */
export async function runWithPaths(
  sandboxId: string,
  command: string,
  env: Readonly<Record<`MAYFLY_${string}`, string>>,
  signal?: AbortSignal,
): Promise<string> {
  const { exit_code, stdout, stderr } = await request<Execution>(`${sandboxPath(sandboxId)}/exec`, {
    method: 'POST',
    body: { command, cwd: '/', env: { ...env, LC_ALL: 'C.UTF-8' }, timeout_ms: commandTimeoutMs },
    timeoutMs: commandTimeoutMs + 30_000,
    ...(signal && { signal }),
  });
  if (exit_code === 0) return stdout;
  const said = stderr.trim().slice(0, longestSaid);
  throw new CommandFailure(exit_code ?? -1, said === '' ? `The command failed with code ${exit_code}.` : said);
}

/** Fails if there is something already. */
export async function createFolder(sandboxId: string, path: string): Promise<void> {
  await runWithPaths(sandboxId, 'mkdir -- "$MAYFLY_PATH"', { MAYFLY_PATH: path });
}

/** Fails if there is something already. */
export async function createFile(sandboxId: string, path: string): Promise<void> {
  await runWithPaths(sandboxId, 'set -o noclobber; : > "$MAYFLY_PATH"', { MAYFLY_PATH: path });
}

/** Renames or moves something. Replaces nothing, except that somebody creates the target at that moment. */
export async function movePath(sandboxId: string, from: string, to: string): Promise<void> {
  const command = [
    'if [ -e "$MAYFLY_TO" ] || [ -L "$MAYFLY_TO" ]; then echo "There is something with this name already." >&2; exit 17; fi',
    'if [ ! -d "$MAYFLY_PARENT" ]; then echo "The folder does not exist. Create it first." >&2; exit 18; fi',
    'mv -nT -- "$MAYFLY_FROM" "$MAYFLY_TO"',
  ].join('\n');
  await runWithPaths(sandboxId, command, { MAYFLY_FROM: from, MAYFLY_TO: to, MAYFLY_PARENT: parentOf(to) });
}
