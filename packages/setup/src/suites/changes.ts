import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { SetupError } from '../announce.ts';

const maxOutputBytes = 64 * 2 ** 20;

/** The files that differ from a commit, deleted and untracked ones included, relative to the repository. */
export interface Changes {
  /** The commit, as readers know it. */
  readonly since: string;
  readonly files: readonly string[];
}

/**
 * Returns what changed since a commit; by default since the last one that was pushed, and without an upstream branch since the one before HEAD. Throws
 * SetupError if there is no such commit.
 */
export async function readChanges(root: string, commit: string | undefined): Promise<Changes> {
  const base = commit === undefined ? await defaultBase(root) : { id: await resolveCommit(root, commit), name: commit };
  const differing = await listFiles(root, 'diff', '--name-only', '--no-renames', base.id);
  const untracked = await listFiles(root, 'ls-files', '--others', '--exclude-standard');
  return { since: `${base.name} (${base.id.slice(0, 10)})`, files: [...new Set([...differing, ...untracked])].sort() };
}

/** The files of the repository that exist now, without ignored ones. Throws SetupError outside of a git checkout. */
export async function listRepository(root: string): Promise<readonly string[]> {
  const deleted = new Set(await listFiles(root, 'ls-files', '--deleted'));
  const files = await listFiles(root, 'ls-files', '--cached', '--others', '--exclude-standard');
  return [...new Set(files)].filter((file) => !deleted.has(file)).sort();
}

async function defaultBase(root: string): Promise<{ readonly id: string; readonly name: string }> {
  const pushed = await git(root, 'merge-base', 'HEAD', '@{upstream}').catch(() => undefined);
  if (pushed !== undefined) return { id: pushed.trim(), name: 'the last pushed commit' };
  return { id: await resolveCommit(root, 'HEAD~1'), name: 'HEAD~1' };
}

async function resolveCommit(root: string, name: string): Promise<string> {
  try {
    return (await git(root, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`)).trim();
  } catch (cause) {
    throw new SetupError(`There is no commit "${name}" in this checkout. Give one that git knows.`, { cause });
  }
}

async function listFiles(root: string, ...args: string[]): Promise<readonly string[]> {
  try {
    return (await git(root, ...args, '-z')).split('\0').filter((file) => file !== '');
  } catch (cause) {
    throw new SetupError(`git could not list the files of ${root}. Use a git checkout that git accepts.`, { cause });
  }
}

async function git(root: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd: root, maxBuffer: maxOutputBytes });
  return stdout;
}
