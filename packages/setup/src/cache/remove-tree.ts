import { readFile, rm } from 'node:fs/promises';
import { SetupError } from '../setup-error.ts';

/** Removes a tree, also one that a dying command still writes to; refuses if something is mounted in it, as that is not ours. */
export async function removeTree(path: string): Promise<void> {
  const [mounted] = findMountsBelow(await readFile('/proc/self/mountinfo', 'utf8'), path);
  if (mounted !== undefined) {
    throw new SetupError(`${path} cannot be removed: something is mounted on ${mounted}. Unmount it, then try again.`);
  }
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}

/** The mount points in a mountinfo text that lie in a folder or on it. */
export function findMountsBelow(mountinfo: string, folder: string): readonly string[] {
  return mountinfo
    .split('\n')
    .map((line) => decodeOctal(line.split(' ')[4] ?? ''))
    .filter((point) => point === folder || point.startsWith(`${folder}/`));
}

/** The kernel writes a space in a path as \040. */
function decodeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
