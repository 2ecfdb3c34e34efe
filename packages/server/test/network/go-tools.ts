import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the programs of host/net are. */
export interface GoTools {
  readonly helperPath: string;
  readonly testguestPath: string;
}

/** The compiler that npm test names, else the host's. */
export const goCommand = process.env.MAYFLY_TEST_GO ?? 'go';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const goModule = join(root, 'host/net');
const cacheFolder = join(root, 'node_modules/.cache/mayfly-net');

const digestSources = (): string => {
  const hash = createHash('sha256').update(process.arch);
  for (const path of globSync('**/*.go', { cwd: goModule }).sort()) hash.update(readFileSync(join(goModule, path)));
  return hash.digest('hex').slice(0, 16);
};

const build = (folder: string): void => {
  mkdirSync(cacheFolder, { recursive: true });
  const unfinished = mkdtempSync(join(cacheFolder, 'building-'));
  try {
    const env = { ...process.env, CGO_ENABLED: '0' };
    execFileSync(goCommand, ['build', '-o', unfinished, '.', './testguest'], { cwd: goModule, env });
    if (!existsSync(folder)) renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
};

/** The programs of host/net, built once for each state of their sources. */
export const goTools = (): GoTools => {
  const folder = join(cacheFolder, digestSources());
  if (!existsSync(folder)) build(folder);
  return { helperPath: join(folder, 'net'), testguestPath: join(folder, 'testguest') };
};
