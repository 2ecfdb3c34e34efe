import { lstat, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';

const programPath = 'packages/cli/bin/mayfly.mjs';

/**
 * Makes `mayfly` a command of this host: a link to the program of the checkout. A link to another checkout is replaced; anything else is left alone.
 * Returns what to tell the operator, if anything. Never fails: everything works without it.
 */
export async function linkCommand(binDir: string, checkout: string): Promise<string | undefined> {
  const path = join(binDir, 'mayfly');
  const target = join(checkout, programPath);
  const found = await findLink(path);
  if (found === target) return undefined;
  if (found === 'foreign') {
    return `! ${path} is another program, so Mayfly's own command was not installed. Use npx mayfly in the checkout.`;
  }
  const staged = `${path}.${process.pid}`;
  try {
    await symlink(target, staged);
    await rename(staged, path);
    return `✓ the command mayfly is installed (${path})`;
  } catch (error) {
    await rm(staged, { force: true }).catch(() => undefined);
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return `! The command mayfly could not be installed in ${binDir} (${reason}). Use npx mayfly in the checkout.`;
  }
}

/** Removes the command from this host if it is Mayfly's. Returns whether it was. */
export async function unlinkCommand(binDir: string): Promise<boolean> {
  const path = join(binDir, 'mayfly');
  const found = await findLink(path);
  if (found === undefined || found === 'foreign') return false;
  await rm(path);
  return true;
}

/** Where a link of Mayfly points to; `foreign` for anything else, undefined for nothing. */
async function findLink(path: string): Promise<string | undefined> {
  const status = await lstat(path).catch(() => undefined);
  if (status === undefined) return undefined;
  const target = status.isSymbolicLink() ? await readlink(path) : '';
  return target.endsWith(`/${programPath}`) ? target : 'foreign';
}
