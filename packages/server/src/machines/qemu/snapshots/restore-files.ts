import { link, mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Template } from '../template/template.ts';

/**
 * The files that a machine is restored from. Bases, snapshots and machines that were launched from a snapshot have a folder with these files under the
 * same names, as hard links: a file exists as long as anything needs it, and nothing else counts references.
 */
export interface RestoreFiles {
  /** The template's RAM file, then one layer of changed pages per snapshot. */
  readonly ramPaths: readonly string[];
  /** Says which layer has which part of the RAM. Without it, the only layer is the whole RAM. */
  readonly planPath: string | undefined;
  /** The state of the devices. */
  readonly statePath: string;
  /** The raw disk, the layer of the template, then one layer per snapshot. */
  readonly diskPaths: readonly string[];
  /** An empty disk layer, of which each machine gets a copy. */
  readonly emptyLayerPath: string;
}

/** How many layers of RAM and disk there are. */
export interface LayerCounts {
  readonly ramLayers: number;
  readonly diskLayers: number;
}

/** The layers of a template: its RAM file; its raw disk and the layer on top of it. */
export const baseLayers: LayerCounts = { ramLayers: 1, diskLayers: 2 };

/** The files of a folder with so many layers. */
export function restoreFilesIn(folder: string, { ramLayers, diskLayers }: LayerCounts): RestoreFiles {
  return {
    ramPaths: Array.from({ length: ramLayers }, (_, at) => join(folder, `ram.${at}`)),
    planPath: join(folder, 'ram.plan'),
    statePath: join(folder, 'state'),
    diskPaths: Array.from({ length: diskLayers }, (_, at) => join(folder, `disk.${at}`)),
    emptyLayerPath: join(folder, 'empty.qcow2'),
  };
}

/** The files of a template where set-up has built it. */
export function filesOfTemplate(template: Template): RestoreFiles {
  return {
    ramPaths: [template.ramPath],
    planPath: undefined,
    statePath: template.statePath,
    diskPaths: [template.manifest.basePath, template.diskPath],
    emptyLayerPath: template.emptyLayerPath,
  };
}

/** The files that a folder contains; undefined when there is no such folder. */
export async function readRestoreFiles(folder: string): Promise<RestoreFiles | undefined> {
  const names = new Set(await readdir(folder).catch(() => []));
  if (names.size === 0) return undefined;
  const count = (prefix: string): number => {
    let layers = 0;
    while (names.has(`${prefix}.${layers}`)) layers += 1;
    return layers;
  };
  return restoreFilesIn(folder, { ramLayers: count('ram'), diskLayers: count('disk') });
}

/** Makes a folder with links to all these files and returns them. QEMU reads them under the machine's user, and cannot list the folder. */
export async function linkRestoreFiles(from: RestoreFiles, folder: string): Promise<RestoreFiles> {
  await mkdir(folder, { mode: 0o711 });
  const counts = { ramLayers: from.ramPaths.length, diskLayers: from.diskPaths.length };
  const to = restoreFilesIn(folder, counts);
  await linkAll(linkPairs(from, to));
  return to;
}

/** Links each source to its target. When one fails, no other is still being made, so that the folder can be removed. */
export async function linkAll(pairs: readonly (readonly [string, string])[]): Promise<void> {
  const made = await Promise.allSettled(pairs.map(([source, target]) => link(source, target)));
  for (const result of made) if (result.status === 'rejected') throw result.reason;
}

/** Which file has which name, for two sets of files with the same numbers of layers. */
export function linkPairs(from: RestoreFiles, to: RestoreFiles): [string, string][] {
  const sources = allFiles(from);
  const targets = allFiles({ ...to, planPath: from.planPath === undefined ? undefined : to.planPath });
  return sources.map((source, at) => [source, targets[at] ?? '']);
}

function allFiles({ ramPaths, planPath, statePath, diskPaths, emptyLayerPath }: RestoreFiles): string[] {
  return [...ramPaths, ...diskPaths, statePath, emptyLayerPath, ...(planPath === undefined ? [] : [planPath])];
}

/** Flushes a file or the names in a folder to disk. */
export async function flush(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
