import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Profile, profilePathOf } from '@mayfly/sdk';
import { type CliIo, Failure, usageFailure } from '../cli-io.ts';

/** The profiles of `mayfly login`. */
export interface Profiles {
  /** The one that is used unless another is named. */
  readonly current: string;
  readonly byName: ReadonlyMap<string, Profile>;
}

const defaultName = 'default';

/** Reads the profiles. Without a file there are none. Throws a Failure if the file cannot be read or is not one of profiles. */
export async function readProfiles(env: CliIo['env']): Promise<Profiles> {
  const path = pathOf(env);
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return { current: defaultName, byName: new Map() };
    throw new Failure(`${path} could not be read (${codeOf(cause)}).`, { cause });
  }
  return parse(content, path);
}

/** Replaces the file as a whole. Only its owner can read it, for it holds API keys. */
export async function writeProfiles(env: CliIo['env'], { current, byName }: Profiles): Promise<void> {
  const path = pathOf(env);
  const folder = dirname(path);
  const content = `${JSON.stringify({ current, profiles: Object.fromEntries(byName) }, null, 2)}\n`;
  const next = `${path}.${randomUUID()}`;
  try {
    if ((await mkdir(folder, { recursive: true, mode: 0o700 })) === undefined && !env.MAYFLY_CONFIG_FILE) {
      await chmod(folder, 0o700);
    }
    await writeFile(next, content, { mode: 0o600, flag: 'wx', flush: true });
    await rename(next, path);
  } catch (cause) {
    await rm(next, { force: true }).catch(() => undefined);
    throw new Failure(`${path} could not be written (${codeOf(cause)}).`, { cause });
  }
}

/** Checks the name of a profile. Throws a Failure if it is not one. */
export function checkProfileName(name: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name)) return name;
  throw usageFailure('The name of a profile has up to 64 letters, digits, dots, dashes and underscores.');
}

function pathOf(env: CliIo['env']): string {
  const path = profilePathOf(env);
  if (path !== undefined) return path;
  throw new Failure('There is no home directory for the profiles. Set HOME or MAYFLY_CONFIG_FILE.');
}

function parse(content: string, path: string): Profiles {
  try {
    const { current, profiles } = JSON.parse(content) as { current?: unknown; profiles?: unknown };
    const byName = new Map(Object.entries((profiles ?? {}) as Readonly<Record<string, Profile>>));
    const areProfiles = [...byName.values()].every(
      (profile) => typeof profile.url === 'string' && typeof profile.api_key === 'string',
    );
    if (!areProfiles) throw new Error('a profile has no URL or no key');
    return { current: typeof current === 'string' ? current : defaultName, byName };
  } catch (cause) {
    throw new Failure(`${path} is not a valid profile file. Correct it, or move it away and run "mayfly login".`, {
      cause,
    });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
