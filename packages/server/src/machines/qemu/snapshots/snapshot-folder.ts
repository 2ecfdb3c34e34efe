import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeNames } from '@mayfly/contract';
import { z } from 'zod';
import {
  machineIdPattern,
  type SnapshotFile,
  SnapshotUnusable,
  type StoredSnapshot,
} from '../../../core/ports/machine-driver.ts';
import type { Log } from '../../../core/ports/runtime.ts';
import { forEachConcurrently } from '../../../core/scheduling/for-each-concurrently.ts';
import { errorCode } from '../jail/cgroups.ts';
import { baseLayers, flush, type RestoreFiles, restoreFilesIn } from './restore-files.ts';

/** Increase it when an earlier Mayfly would misread a snapshot. */
const manifestVersion = 1;

/** What a machine runs with, and so what a copy of it needs of the host that it is launched on. */
export const machineRequirements = z.object({
  size: z.enum(sizeNames),
  arch: z.string(),
  acceleration: z.string(),
  machineType: z.string(),
  qemuVersion: z.string(),
  cpuModel: z.string(),
  /** The processor of the host, with KVM only. */
  hostCpu: z.string().nullable(),
  /** The hash of the options that define the devices. */
  deviceModel: z.string(),
});

export type MachineRequirements = z.infer<typeof machineRequirements>;

const manifest = machineRequirements.extend({
  version: z.int(),
  id: z.string(),
  ramLayers: z.int().positive(),
  diskLayers: z.int().positive(),
  createdAtMs: z.int(),
});

/** What a snapshot needs of the host that it is launched on. */
export type SnapshotManifest = Omit<z.infer<typeof manifest>, 'version'>;

const manifestName = 'snapshot.json';

/** How many snapshots are read at the same time. */
const filesAtOnce = 16;

/** A snapshot that can be launched. */
export interface OpenedSnapshot {
  readonly manifest: SnapshotManifest;
  readonly files: RestoreFiles;
}

/** The snapshots of a data folder: one folder each, which gets its name when it is complete. */
export class SnapshotFolders {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes the folder, and removes what an interrupted save or deletion left in it. Called before anything else. */
  async open(log: Log): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const left = (await readdir(this.#folder)).filter((name) => !machineIdPattern.test(name));
    for (const name of left) await rm(join(this.#folder, name), { recursive: true, force: true });
    if (left.length > 0) log.warn({ folders: left }, 'unfinished_snapshots_removed');
  }

  /**
   * All complete snapshots, in the order of their ids, also those that cannot be launched because they are damaged or a newer Mayfly saved them. Throws
   * if one cannot be read: a service that misses a snapshot in the list considers it lost.
   */
  async list(): Promise<StoredSnapshot[]> {
    const ids = (await readdir(this.#folder)).filter((name) => machineIdPattern.test(name)).sort();
    const found = new Map<string, StoredSnapshot>();
    await forEachConcurrently(ids, filesAtOnce, async (id) => {
      const snapshot = await this.#describeForList(id);
      if (snapshot !== undefined) found.set(id, snapshot);
    });
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  /** Undefined if it was deleted meanwhile. */
  async #describeForList(id: string): Promise<StoredSnapshot | undefined> {
    try {
      return await this.describe(id);
    } catch (error) {
      const folder = join(this.#folder, id);
      const names = await readdir(folder).catch((missing: unknown) => {
        if (errorCode(missing) === 'ENOENT') return undefined;
        throw missing;
      });
      if (names === undefined) return undefined;
      if (!(error instanceof SnapshotUnusable)) throw error;
      // What is in it is only known in part.
      return { id, size: 'small', files: await Promise.all(names.map((name) => describeFile(join(folder, name)))) };
    }
  }

  /** The size of a snapshot and the files that are not the template's. Throws SnapshotUnusable. */
  async describe(id: string): Promise<StoredSnapshot> {
    const { manifest, files } = await this.read(id);
    const own = [
      ...files.ramPaths.slice(baseLayers.ramLayers),
      ...files.diskPaths.slice(baseLayers.diskLayers),
      files.statePath,
      ...(files.planPath === undefined ? [] : [files.planPath]),
      join(this.#folder, id, manifestName),
    ];
    return { id, size: manifest.size, files: await Promise.all(own.map(describeFile)) };
  }

  /** Reads what a snapshot is made of. Throws SnapshotUnusable when it does not exist or only a newer Mayfly can read it. */
  async read(id: string): Promise<OpenedSnapshot> {
    if (!machineIdPattern.test(id)) throw new SnapshotUnusable(`${JSON.stringify(id)} is not the id of a snapshot.`);
    const folder = join(this.#folder, id);
    const text = await readFile(join(folder, manifestName), 'utf8').catch((cause: unknown) => {
      if (errorCode(cause) !== 'ENOENT') throw cause;
      throw new SnapshotUnusable(`There is no snapshot ${id} on this host.`, { cause });
    });
    const { version, ...found } = parseManifest(id, text);
    if (version > manifestVersion) {
      throw new SnapshotUnusable(`The snapshot ${id} was saved by a newer Mayfly. Start that one to use it.`);
    }
    return { manifest: found, files: restoreFilesIn(folder, found) };
  }

  /** Makes the folder of a new snapshot, which nobody sees until it is published. Throws when the id is in use. */
  async reserve(id: string): Promise<string> {
    if (!machineIdPattern.test(id)) throw new Error(`not the id of a snapshot: ${JSON.stringify(id)}`);
    const partial = this.#partialOf(id);
    await mkdir(partial, { mode: 0o700 }).catch((error: unknown) => {
      throw errorCode(error) === 'EEXIST' ? new Error(`The snapshot ${id} is being saved already.`) : error;
    });
    // From here on nobody else can publish this id.
    const exists = await stat(join(this.#folder, id)).then(
      () => true,
      () => false,
    );
    if (!exists) return partial;
    await rm(partial, { recursive: true, force: true });
    throw new Error(`There is already a snapshot ${id}.`);
  }

  /** Completes a snapshot whose files are in its reserved folder and flushed. It survives a crash of the host from then on. */
  async publish(content: SnapshotManifest): Promise<void> {
    const partial = this.#partialOf(content.id);
    const path = join(partial, manifestName);
    await writeFile(path, `${JSON.stringify({ version: manifestVersion, ...content }, null, 2)}\n`, { mode: 0o600 });
    await flush(path);
    await flush(partial);
    await rename(partial, join(this.#folder, content.id));
    await flush(this.#folder);
  }

  /** Removes everything of a snapshot whose id was reserved and whose save failed. */
  async discard(id: string): Promise<void> {
    await rm(this.#partialOf(id), { recursive: true, force: true });
    await this.delete(id);
  }

  /** Removes a snapshot. Succeeds for one that does not exist. */
  async delete(id: string): Promise<void> {
    if (!machineIdPattern.test(id)) throw new Error(`not the id of a snapshot: ${JSON.stringify(id)}`);
    const deleted = join(this.#folder, `${id}.deleted`);
    await rm(deleted, { recursive: true, force: true });
    // Renamed first, so that no half of it is ever listed or launched.
    await rename(join(this.#folder, id), deleted).catch((error: unknown) => {
      if (errorCode(error) !== 'ENOENT') throw error;
    });
    await rm(deleted, { recursive: true, force: true });
  }

  #partialOf(id: string): string {
    return join(this.#folder, `${id}.partial`);
  }
}

function parseManifest(id: string, text: string): z.infer<typeof manifest> {
  try {
    return manifest.parse(JSON.parse(text));
  } catch (cause) {
    throw new SnapshotUnusable(`The snapshot ${id} is damaged: its description cannot be read.`, { cause });
  }
}

async function describeFile(path: string): Promise<SnapshotFile> {
  const { dev, ino, blocks } = await stat(path);
  return { id: `${dev}:${ino}`, bytes: blocks * 512 };
}
