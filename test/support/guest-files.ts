import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { call, output, type Target } from './api-requests.ts';

/** Fits into one write request as base64. */
const pieceBytes = 7 * 1024 ** 2;
const maxArchiveBytes = 256 * 1024 ** 2;
/** Files that are not needed at run time. */
const excludedFiles = ['*.map', '*.d.ts', '*.d.mts', '*.d.cts', '*.md', '*/node_modules/.*'];

/** Copies files and folders below `root` on the host to the same relative paths below /workspace, without a network. */
export async function copyToSandbox(
  target: Target,
  sandboxId: string,
  root: string,
  folders: readonly string[],
): Promise<void> {
  const names = folders.map((folder) => relative(root, folder));
  const excluded = excludedFiles.map((pattern) => `--exclude=${pattern}`);
  const { stdout: archive } = await promisify(execFile)('tar', ['-cz', ...excluded, ...names], {
    cwd: root,
    encoding: 'buffer',
    maxBuffer: maxArchiveBytes,
  });
  const folder = `.copy-${randomUUID()}`;
  const pieces: string[] = [];
  for (let at = 0; at < archive.length; at += pieceBytes) {
    const path = `${folder}/${pieces.length}`;
    const content = archive.subarray(at, at + pieceBytes).toString('base64');
    const response = await call(target, 'PUT', `/sandboxes/${sandboxId}/files`, { path, content, encoding: 'base64' });
    expect(response.status).toBe(201);
    pieces.push(path);
  }
  await output(target, sandboxId, `cat ${pieces.join(' ')} | tar -xz --no-same-owner && rm -r ${folder}`);
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Finds the folder of a package as Node.js resolves it from a folder. */
function findPackage(name: string, from: string): string | undefined {
  const folder = join(from, 'node_modules', name);
  if (existsSync(join(folder, 'package.json'))) return folder;
  return from === '/' ? undefined : findPackage(name, dirname(from));
}

/** The folders of a package and all of its dependencies. Optional dependencies are included if they are installed. */
export async function packageFolders(name: string, from: string): Promise<readonly string[]> {
  const folders = new Set<string>();
  const add = async (wanted: string, near: string, isOptional: boolean): Promise<void> => {
    const folder = findPackage(wanted, near);
    if (folder === undefined && !isOptional) throw new Error(`${wanted} is not installed`);
    if (folder === undefined || folders.has(folder)) return;
    folders.add(folder);
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
    for (const next of Object.keys(manifest.dependencies ?? {})) {
      await add(next, folder, next in (manifest.optionalDependencies ?? {}));
    }
    for (const next of Object.keys(manifest.optionalDependencies ?? {})) await add(next, folder, true);
  };
  await add(name, from, false);
  return [...folders];
}
