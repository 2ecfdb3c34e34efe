import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReportDetail } from '../announce.ts';
import { projectRoot } from '../project-root.ts';
import { runCommand } from '../run-command.ts';
import type { StepContext } from './context.ts';

const recipeFolder = join(projectRoot, 'guest/image/node');

/** Settings that the npm around us may have exported and that must not reach an install elsewhere. */
const foreignSettings =
  /^(npm_config_(local_prefix|prefix|global|omit|only|production|include|workspaces?|node_gyp)|NODE_ENV|INIT_CWD)$/i;

/** Installs the pinned Node.js and npm for the image into the folder. */
export async function installGuestNode(context: StepContext, folder: string, report: ReportDetail): Promise<void> {
  await mkdir(folder);
  for (const name of ['package.json', 'package-lock.json'])
    await copyFile(join(recipeFolder, name), join(folder, name));
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreignSettings.test(name)));
  report('fetching Node.js and npm for the image');
  const options = ['--ignore-scripts', '--include=optional', '--no-audit', '--no-fund', '--no-update-notifier'];
  await runCommand('npm', ['ci', ...options, '--prefix', folder], { cwd: folder, env, signal: context.signal });
}
