import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { processIdentity } from './process-identity.ts';

const leaseContent = z.object({
  /** Differs for every lease, also of the same uid. */
  token: z.string(),
  /** The folder of the machine that runs under the uid. */
  machineFolder: z.string(),
  /** The service that took the lease. */
  owner: processIdentity,
});

/** What a lease file says. */
type LeaseContent = z.infer<typeof leaseContent>;

/** A lease without readable content is only being written; after this many milliseconds its writer has died over it. */
const unfinishedMs = 60_000;

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

/** Makes a file that must not exist; false when it does. Of any number of processes at once, one succeeds. */
const createFile = (path: string, text: string): boolean => {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
  try {
    writeFileSync(path, text);
  } catch (error) {
    unlinkSync(path);
    throw error;
  }
  return true;
};

/** Takes a lease by making its file; undefined when somebody has it. */
export const createLease = (path: string, content: Omit<LeaseContent, 'token'>): LeaseContent | undefined => {
  const lease = { token: randomUUID(), ...content };
  return createFile(path, `${JSON.stringify(lease)}\n`) ? lease : undefined;
};

const parseLease = (text: string): LeaseContent | undefined => {
  try {
    return leaseContent.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

/** What a lease file says: "unfinished" when its writer died, undefined when there is none or it is just being written. */
export const readLease = (path: string): LeaseContent | 'unfinished' | undefined => {
  try {
    const content = parseLease(readFileSync(path, 'utf8'));
    if (content) return content;
    return Date.now() - statSync(path).mtimeMs > unfinishedMs ? 'unfinished' : undefined;
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
};

/**
 * Removes the lease with this token (or "unfinished"), and no other one that has taken its place; false when another process is just removing it.
 * Only the holder of the file beside it removes a lease. A process that is killed within these few system calls leaves that file,
 * and the uid stays taken until the host restarts.
 */
export const removeLease = (path: string, token: string): boolean => {
  const guard = `${path}.removing`;
  let held: number;
  try {
    held = openSync(guard, 'wx', 0o600);
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
  try {
    const now = readLease(path);
    if (now !== undefined && (now === 'unfinished' ? 'unfinished' : now.token) === token) unlinkSync(path);
    return true;
  } finally {
    closeSync(held);
    unlinkSync(guard);
  }
};
