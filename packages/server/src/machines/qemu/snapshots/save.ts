import { chmod, chown, constants, open, rm, stat, writeFile } from 'node:fs/promises';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import { HostFull, type SaveResult } from '../../../core/ports/machine-driver.ts';
import type { QemuEngine } from '../engine.ts';
import type { MachineResources } from '../host-resources.ts';
import type { Cgroups } from '../jail/cgroups.ts';
import type { QmpClient } from '../qmp/qmp-client.ts';
import { saveMemory } from '../qmp/save-memory.ts';
import type { StepRunner } from '../steps.ts';
import { type Bases, ramBytesOf } from './bases.ts';
import { whyNotSavable } from './compatibility.ts';
import {
  addLayer,
  type DiskChain,
  flattenDisk,
  ownLayerPath,
  readDiskChain,
  removeUnusedLayers,
  stackLayer,
} from './disk-chain.ts';
import { extractMemory } from './extract.ts';
import { cleanUpLastSaved, forgetLastSaved, replaceLastSaved } from './last-saved.ts';
import { baseLayers, flush, linkAll, type RestoreFiles, readRestoreFiles, restoreFilesIn } from './restore-files.ts';
import { SaveLimits } from './save-limits.ts';
import type { MachineRequirements, SnapshotFolders } from './snapshot-folder.ts';

/** A running machine, as a save sees it. */
export interface SavableMachine {
  readonly qmp: QmpClient;
  readonly resources: Pick<MachineResources, 'id' | 'size' | 'layout' | 'lease'>;
  /** The key of the base that it was launched from; undefined for one that was launched from a snapshot. */
  readonly base: string | undefined;
  /** What a copy of it needs; undefined for a machine of an earlier Mayfly. */
  readonly requirements: MachineRequirements | undefined;
}

export interface MachineSaverOptions {
  readonly engine: QemuEngine;
  readonly bases: Bases;
  readonly snapshots: SnapshotFolders;
  readonly cgroups: Pick<Cgroups, 'memoryBytesOf'>;
  /** native/ram. */
  readonly ramPath: string;
  readonly dataDir: string;
  /** What a save leaves of the data folder's file system. */
  readonly diskReserveBytes: number;
  readonly step: StepRunner;
  /** The most layers of a disk or of RAM. */
  readonly maxLayers?: number;
}

/**
 * A disk with this many layers is flattened before the next one is added, because every layer makes reading slower. A snapshot that would have more
 * layers of RAM stores all of its memory again, on top of the template's.
 */
const defaultMaxLayers = 8;

/** Room for device state, plan, disk layers in flight and what machines write meanwhile. */
const marginBytes = 256 * 1024 ** 2;

/** Saves running machines as snapshots. */
export class MachineSaver {
  readonly #options: MachineSaverOptions;
  readonly #limits: SaveLimits;
  readonly #maxLayers: number;

  constructor(options: MachineSaverOptions) {
    this.#options = options;
    this.#maxLayers = options.maxLayers ?? defaultMaxLayers;
    this.#limits = new SaveLimits({ folder: options.dataDir, diskReserveBytes: options.diskReserveBytes });
  }

  /**
   * Saves a machine, which goes on whatever happens. When this fails, nothing of the snapshot is left; the machine's disk may have one layer more. One
   * save of a machine at a time.
   */
  async save(machine: SavableMachine, snapshotId: string, signal: AbortSignal): Promise<SaveResult> {
    const { engine, snapshots, step } = this.#options;
    const why = whyNotSavable(engine);
    if (why !== undefined) throw new Error(why);
    const { requirements } = machine;
    if (requirements === undefined) throw new Error(ofEarlierMayfly);
    using _room = await this.#requireRoom(machine);
    using watch = this.#limits.watch();
    const either = AbortSignal.any([signal, watch.signal]);
    let partial: string | undefined;
    try {
      await step('reserve snapshot', async () => {
        partial = await snapshots.reserve(snapshotId);
      });
      return await this.#saveInto(machine, partial ?? '', { ...requirements, id: snapshotId }, either);
    } catch (error) {
      // Without the reservation, the id belongs to another snapshot.
      if (partial !== undefined) await snapshots.discard(snapshotId);
      throw watch.signal.aborted ? watch.signal.reason : await this.#limits.explain(error);
    }
  }

  /** Removes what an interrupted save left in the folder of a machine that goes on. */
  async cleanUpAfter({ qmp, resources }: Pick<SavableMachine, 'qmp' | 'resources'>): Promise<void> {
    const { folder, memoryPath, stoppedPath } = resources.layout;
    await rm(stoppedPath, { force: true });
    await rm(memoryPath, { force: true });
    await cleanUpLastSaved(resources.layout.savedFolder);
    await removeUnusedLayers(folder, await chainOf({ qmp, resources }));
  }

  async #saveInto(
    machine: SavableMachine,
    partial: string,
    content: MachineRequirements & { readonly id: string },
    signal: AbortSignal,
  ): Promise<SaveResult> {
    const { snapshots, ramPath, step } = this.#options;
    const { size, layout, lease } = machine.resources;
    const launched = await this.#launchedFrom(machine, signal);
    const parent = (await readRestoreFiles(layout.savedFolder)) ?? launched;
    try {
      const { chain, pausedMs } = await this.#freeze(machine, launched, signal);
      const keptLayers = parent.ramPaths.length < this.#maxLayers ? parent.ramPaths.length : 1;
      const ownLayers = chain.ownLayers.map((number) => ownLayerPath(layout.folder, number));
      const diskPaths = [...launched.diskPaths.slice(0, chain.launchedLayers), ...ownLayers];
      const counts = { ramLayers: keptLayers + 1, diskLayers: diskPaths.length };
      const files = restoreFilesIn(partial, counts);
      await step('extract memory', () =>
        extractMemory({ ramPath, memoryPath: layout.memoryPath, size, parent, keptLayers, files, user: lease, signal }),
      ).catch(async (error: unknown) => {
        // What was saved last may be damaged. The next save does without it.
        if (!signal.aborted && !(error instanceof HostFull)) await forgetLastSaved(layout.savedFolder);
        throw error;
      });
      signal.throwIfAborted();
      await step('link layers', async () => {
        for (const path of ownLayers) await freezeFile(path);
        const sources = [...parent.ramPaths.slice(0, keptLayers), ...diskPaths, launched.emptyLayerPath];
        const targets = [...files.ramPaths.slice(0, keptLayers), ...files.diskPaths, files.emptyLayerPath];
        await linkAll(sources.map((source, at) => [source, targets[at] ?? '']));
      });
      signal.throwIfAborted();
      const manifest = { ...content, ...counts, createdAtMs: Date.now() };
      await step('publish snapshot', () => snapshots.publish(manifest));
      return await this.#published(machine, content.id, pausedMs);
    } finally {
      await rm(layout.memoryPath, { force: true });
    }
  }

  /** The next save stores only what changes from now on. */
  async #published({ resources }: SavableMachine, snapshotId: string, pausedMs: number): Promise<SaveResult> {
    const { snapshots, step } = this.#options;
    const { files } = await snapshots.read(snapshotId);
    await step('keep layers', () => replaceLastSaved(files, resources.layout.savedFolder));
    return { snapshot: await snapshots.describe(snapshotId), pausedMs };
  }

  /** Saves memory and disk of one instant. The result has the layers of the disk at that instant, to which the machine does not write any more. */
  async #freeze(
    machine: SavableMachine,
    launched: RestoreFiles,
    signal: AbortSignal,
  ): Promise<{ readonly chain: DiskChain; readonly pausedMs: number }> {
    const { step } = this.#options;
    const { qmp } = machine;
    const { layout, lease } = machine.resources;
    const { folder, memoryPath, stoppedPath } = layout;
    const chain = await this.#shortChain(machine, signal);
    const top = chain.ownLayers.at(-1) ?? 0;
    try {
      await step('add layer', () => addLayer(qmp, { folder, ...lease }, top + 1, launched.emptyLayerPath));
      await step('make memory file', () => makeFileFor(memoryPath, lease));
      const atInstant = (): Promise<void> => step('stack layer', () => stackLayer(qmp, top, top + 1));
      const beforeStop = (): Promise<void> => writeFile(stoppedPath, '');
      const afterOpen = (): Promise<void> => openAndClose(memoryPath);
      const memory = { path: memoryPath, afterOpen, atInstant, beforeStop, signal };
      const pausedMs = await step('save memory', () => saveMemory(qmp, memory));
      return { chain, pausedMs };
    } catch (error) {
      // Whether the machine writes to the new layer is only known to QEMU, which may be gone.
      await chainOf(machine)
        .then((used) => removeUnusedLayers(folder, used))
        .catch(() => {});
      throw error;
    } finally {
      await rm(stoppedPath, { force: true });
    }
  }

  /** The layers of the machine's disk, flattened if there are many. */
  async #shortChain(machine: SavableMachine, signal: AbortSignal): Promise<DiskChain> {
    const { qmp, resources } = machine;
    const chain = await chainOf(machine);
    if (!isLong(chain, this.#maxLayers)) return chain;
    await this.#options.step('flatten disk', () => flattenDisk(qmp, chain, machineDeadlines.save.flattenMs, signal));
    const flat = await chainOf(machine);
    await removeUnusedLayers(resources.layout.folder, flat);
    return flat;
  }

  /** The files that a machine was launched from, in the data folder. */
  async #launchedFrom({ base, resources }: SavableMachine, signal: AbortSignal): Promise<RestoreFiles> {
    if (base !== undefined) return await this.#options.bases.inDataFolder(base, signal);
    const own = await readRestoreFiles(resources.layout.originFolder);
    if (own !== undefined) return own;
    throw new Error(ofEarlierMayfly);
  }

  /** Reserves the disk space that a save may need until it is disposed. */
  async #requireRoom(machine: SavableMachine): Promise<Disposable> {
    const { bases, cgroups } = this.#options;
    const { base, resources } = machine;
    const { id, size, layout } = resources;
    const [usedBytes, copiedBytes, flattenedBytes, saved, origin] = await Promise.all([
      cgroups.memoryBytesOf(id),
      base === undefined ? 0 : bases.missingBytes(base),
      bytesToFlatten(machine, this.#maxLayers),
      readRestoreFiles(layout.savedFolder),
      readRestoreFiles(layout.originFolder),
    ]);
    const layers = (saved ?? origin ?? bases.ofSize(size).files).ramPaths;
    // What is not in memory is in the layers that the machine came from.
    const contentBytes = Math.min(ramBytesOf(size), usedBytes + (await allocatedBytes(layers)));
    const neededBytes = 2 * contentBytes + copiedBytes + flattenedBytes + marginBytes;
    return await this.#limits.admit(neededBytes);
  }
}

const ofEarlierMayfly =
  'This machine was started by an earlier Mayfly, which took no snapshots. Create a new sandbox to save it.';

/** The layers of a machine's disk, of which QEMU can only name those that the machine was launched with and its own. */
async function chainOf({ qmp, resources }: Pick<SavableMachine, 'qmp' | 'resources'>): Promise<DiskChain> {
  const origin = await readRestoreFiles(resources.layout.originFolder);
  return await readDiskChain(qmp, origin?.diskPaths.length ?? baseLayers.diskLayers);
}

function isLong({ launchedLayers, ownLayers }: DiskChain, maxLayers: number): boolean {
  return launchedLayers + ownLayers.length >= maxLayers;
}

/** What flattening the machine's disk writes into its top layer, if it is due: the layers between that one and the template's. */
async function bytesToFlatten(machine: SavableMachine, maxLayers: number): Promise<number> {
  const chain = await chainOf(machine);
  if (!isLong(chain, maxLayers)) return 0;
  const { folder, originFolder } = machine.resources.layout;
  const origin = await readRestoreFiles(originFolder);
  const own = chain.ownLayers.slice(0, -1).map((number) => ownLayerPath(folder, number));
  return await allocatedBytes([
    ...(origin?.diskPaths ?? []).slice(baseLayers.diskLayers, chain.launchedLayers),
    ...own,
  ]);
}

/** Makes an empty file that only QEMU under the machine's user writes. */
async function makeFileFor(path: string, { uid, gid }: { readonly uid: number; readonly gid: number }): Promise<void> {
  await rm(path, { force: true });
  await (await open(path, 'wx', 0o600)).close();
  await chown(path, uid, gid);
}

/**
 * Makes QEMU's own close fast. A file system (ext4, XFS, btrfs) begins to write a whole file to the disk when it is closed for the first time after it was
 * truncated. QEMU truncates this file when it opens it, and closes it while the machine stands still. Nobody needs it on the disk: it is removed soon.
 */
async function openAndClose(path: string): Promise<void> {
  await (await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)).close();
}

/** Takes a layer from the machine's user and flushes it. */
async function freezeFile(path: string): Promise<void> {
  await chown(path, 0, 0);
  await chmod(path, 0o444);
  await flush(path);
}

async function allocatedBytes(paths: readonly string[]): Promise<number> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  return found.reduce((sum, file) => sum + (file?.blocks ?? 0) * 512, 0);
}
