import { chmod, cp, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@mayfly/server/system';
import { type CacheEntry, manifestPath, removeTree } from '../cache/entry.ts';
import { digestFolder, hashValues } from '../cache/keys.ts';
import { waitForLock } from '../cache/lock.ts';
import { projectRoot } from '../environment.ts';
import { ensureStep, type StepContext } from './step.ts';

const recipe = '1';
const packageFolder = join(projectRoot, 'packages/dashboard');
/** From here the service reads the page. */
const distFolder = join(packageFolder, 'dist');
const lockDeadlineMs = 60_000;

/** The cache entry of the dashboard's page for the current sources and versions of packages. */
export async function dashboardEntry(): Promise<CacheEntry> {
  const isSource = (path: string) => !/\.test\.tsx?$/.test(path);
  const isOwnSource = (path: string) => /^(?:src\/|[^/]+$)/.test(path) && isSource(path);
  const [own, contract, packages] = await Promise.all([
    digestFolder(packageFolder, isOwnSource),
    digestFolder(join(projectRoot, 'packages/contract/src'), isSource),
    readFile(join(projectRoot, 'package-lock.json'), 'utf8'),
  ]);
  return { kind: 'dashboard', key: hashValues({ recipe, own, contract, packages }) };
}

/** Builds the dashboard's page unless it is cached, and puts it where the service reads it. */
export async function ensureDashboard(context: StepContext): Promise<void> {
  const { cacheDir, signal } = context;
  const folder = await ensureStep(context, 'dashboard', await dashboardEntry(), async (stagingDir, report) => {
    report('building');
    await runProgram(process.execPath, [join(packageFolder, 'build.ts'), stagingDir], { onLine: report, signal });
  });
  using _lock = await waitForLock(join(cacheDir, '.locks', 'dashboard-dist.lock'), {
    deadlineMs: lockDeadlineMs,
    signal,
  });
  await placeFolder(folder, distFolder);
}

/** Replaces a folder by a copy of a cache entry, at once; does nothing if it is one already. One process does so at a time. */
export async function placeFolder(entryFolder: string, target: string): Promise<void> {
  const readManifest = (folder: string) => readFile(manifestPath(folder), 'utf8').catch(() => undefined);
  const wanted = await readManifest(entryFolder);
  if (wanted !== undefined && wanted === (await readManifest(target))) return;
  const copy = `${target}.new`;
  await removeTree(copy);
  await cp(entryFolder, copy, { recursive: true });
  // The service's user reads it too.
  await chmod(copy, 0o755);
  await removeTree(target);
  await rename(copy, target);
}
