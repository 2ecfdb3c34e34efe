import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The paths of the programs of host/net. */
export interface GoTools {
  readonly helperPath: string;
  readonly testguestPath: string;
}

/** The Go compiler that `npm test` chose, or the one on the PATH. */
export const goCommand = process.env.MAYFLY_TEST_GO ?? 'go';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const goModule = join(root, 'host/net');
const cacheFolder = join(root, 'node_modules/.cache/mayfly-net');

/** Builds the programs of host/net. The result is cached until their sources change. */
export function goTools(): GoTools {
  const folder = join(cacheFolder, digestSources());
  if (!existsSync(folder)) build(folder);
  return { helperPath: join(folder, 'net'), testguestPath: join(folder, 'testguest') };
}

function digestSources(): string {
  const hash = createHash('sha256').update(process.arch);
  for (const path of globSync('**/*.go', { cwd: goModule }).sort()) hash.update(readFileSync(join(goModule, path)));
  return hash.digest('hex').slice(0, 16);
}

function build(folder: string): void {
  mkdirSync(cacheFolder, { recursive: true });
  const stagingDir = mkdtempSync(join(cacheFolder, 'building-'));
  try {
    const env = { ...process.env, CGO_ENABLED: '0' };
    execFileSync(goCommand, ['build', '-o', stagingDir, '.', './testguest'], { cwd: goModule, env });
    if (!existsSync(folder)) renameSync(stagingDir, folder);
  } finally {
    rmSync(stagingDir, { recursive: true, force: true });
  }
}
