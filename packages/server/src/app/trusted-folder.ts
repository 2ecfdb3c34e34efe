import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';

/** Who may own what root uses, or write to it as a group. */
export interface TrustedIds {
  readonly uids: readonly number[];
  readonly gids: readonly number[];
}

/** Root, the user of this process, and the user who ran sudo, if this environment names one: they can become root anyway. */
export function trustedIds(env: NodeJS.ProcessEnv): TrustedIds {
  const sudoId = (text: string | undefined) => (text !== undefined && /^\d+$/.test(text) ? [Number(text)] : []);
  return {
    uids: [0, process.getuid?.() ?? 0, ...sudoId(env.SUDO_UID)],
    gids: [0, process.getgid?.() ?? 0, ...sudoId(env.SUDO_GID)],
  };
}

/**
 * Says who else could change or replace a folder, which need not exist yet; undefined if nobody can. Looks at it and at every folder above it, also
 * behind links.
 */
export function describeUntrusted(path: string, trusted: TrustedIds): string | undefined {
  for (const folder of new Set([...existingParts(path), ...existingParts(realPathOf(path))])) {
    const found = lstatSync(folder);
    if (!trusted.uids.includes(found.uid)) return `${folder} belongs to the user with the id ${found.uid}`;
    // The mode of a link means nothing, and in a sticky folder (/tmp) only the owner can replace what is in it.
    if (found.isSymbolicLink() || ((found.mode & 0o1000) !== 0 && folder !== path)) continue;
    if ((found.mode & 0o002) !== 0) return `every user can write to ${folder}`;
    if ((found.mode & 0o020) !== 0 && !trusted.gids.includes(found.gid)) {
      return `the group with the id ${found.gid} can write to ${folder}`;
    }
  }
  return undefined;
}

/** The path and all folders above it, as far as they exist. */
function existingParts(path: string): readonly string[] {
  const above = dirname(path);
  const parts = above === path ? [] : existingParts(above);
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? parts : [...parts, path];
}

function realPathOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
