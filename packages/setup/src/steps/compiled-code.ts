import { chmod, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runProgram } from '@mayfly/server/system';
import type { CacheEntry } from '../cache/entry.ts';
import { digestFolder, hashValues } from '../cache/keys.ts';
import { projectRoot } from '../environment.ts';
import { ensureStep, type StepContext } from './step.ts';

const recipe = '1';
const serverFolder = join(projectRoot, 'packages/server/src');
/** With what they import, these are the code of the service and of the host process. */
const modules = [
  'app/run-service.ts',
  'host-process/run-host.ts',
  'host-process/settings.ts',
  'machines/qemu/driver.ts',
];

/** The cache entry of the compiled code. Node.js finds code by its path, so each checkout has its own. */
async function compiledCodeEntry(serviceUid: number): Promise<CacheEntry> {
  const isSource = (path: string) => path.endsWith('.ts') && !path.endsWith('.test.ts');
  const [server, contract, packages] = await Promise.all([
    digestFolder(serverFolder, isSource),
    digestFolder(join(projectRoot, 'packages/contract/src'), isSource),
    readFile(join(projectRoot, 'package-lock.json'), 'utf8'),
  ]);
  const where = `${projectRoot} ${process.execPath} ${process.version} ${serviceUid}`;
  return { kind: 'compiled-code', key: hashValues({ recipe, where, server, contract, packages }) };
}

/**
 * Compiles the code of the service and of the host process, as Node.js else does at each of their starts, which takes half of it. Returns a folder for
 * NODE_COMPILE_CACHE. Root writes it, and the service's user reads it.
 */
export async function ensureCompiledCode(context: StepContext, serviceUid: number): Promise<string> {
  return await ensureStep(context, 'compiled code', await compiledCodeEntry(serviceUid), async (stagingDir) => {
    const imports = modules.map((path) => `await import(${JSON.stringify(pathToFileURL(join(serverFolder, path)))});`);
    await runProgram(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', imports.join('\n')],
      { env: { NODE_COMPILE_CACHE: stagingDir }, signal: context.signal },
    );
    await shareWithUser(stagingDir, serviceUid);
  });
}

/** Node.js keeps what each user compiled in a folder whose name ends with the user's number, readable by nobody else. */
export async function shareWithUser(folder: string, uid: number): Promise<void> {
  const ownEnding = /-0$/;
  const own = (await readdir(folder)).find((name) => ownEnding.test(name));
  if (own === undefined) throw new Error(`Node.js ${process.version} kept no compiled code in ${folder}.`);
  await chmod(join(folder, own), 0o755);
  for (const file of await readdir(join(folder, own))) await chmod(join(folder, own, file), 0o644);
  await symlink(own, join(folder, own.replace(ownEnding, `-${uid}`)));
}
