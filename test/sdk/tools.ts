import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '#server/system/index.ts';
import { ensureEntry } from '#setup/cache/entry.ts';
import { hashValues } from '#setup/cache/keys.ts';
import { readEnvironment } from '#setup/environment.ts';

const recipeDir = join(import.meta.dirname, 'tools');
const installMs = 10 * 60_000;

/** Runtimes, a bundler and checkers of packages, installed from npm when they are first needed. Returns the path of one of their files. */
export async function installTools(): Promise<(path: string) => string> {
  const { cacheDir } = readEnvironment(process.env);
  const files = ['package.json', 'package-lock.json'];
  const lock = await readFile(join(recipeDir, 'package-lock.json'), 'utf8');
  const entry = { kind: 'sdk-tools', key: hashValues({ arch: process.arch, lock }) };
  const folder = await ensureEntry(entry, {
    cacheDir,
    build: async (stagingDir) => {
      for (const file of files) await copyFile(join(recipeDir, file), join(stagingDir, file));
      const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', stagingDir];
      await runProgram('npm', ['ci', ...options], { deadlineMs: installMs });
    },
  });
  return (path) => join(folder, 'node_modules', path);
}
