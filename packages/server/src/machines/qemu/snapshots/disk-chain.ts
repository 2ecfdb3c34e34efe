import { chmod, chown, constants, copyFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { machineDeadlines } from '../../../core/ports/machine-deadlines.ts';
import { DeadlineExceeded, withDeadline } from '../../../core/scheduling/deadline.ts';
import { firstTopNode, topLayerNode } from '../argv.ts';
import type { QmpClient } from '../qmp/qmp-client.ts';
import { baseLayers } from './restore-files.ts';

/**
 * The layers of a running machine's disk. The lowest ones are those that it was launched with. Above them are its own, the first of which it was launched
 * with too, and each save adds one. They have the numbers 0, 1, 2 …, of which some may be missing.
 */
export interface DiskChain {
  /** How many of the layers that it was launched with are still in use. */
  readonly launchedLayers: number;
  /** The numbers of its own layers in use, in ascending order. The machine writes to the last one. */
  readonly ownLayers: readonly number[];
}

type Monitor = Pick<QmpClient, 'execute' | 'onEvent' | 'closed'>;

const nodeName = z.string().max(64);
const namedNodes = z.array(z.object({ 'node-name': nodeName.optional() })).max(512);
const blockDevices = z
  .array(
    z.object({
      inserted: z.object({ 'node-name': nodeName.optional(), backing_file_depth: z.int().nonnegative() }).optional(),
    }),
  )
  .max(64);

/** The file of one of a machine's own layers, in its folder. */
export function ownLayerPath(folder: string, number: number): string {
  return join(folder, number === 0 ? 'disk.qcow2' : `disk-${number}.qcow2`);
}

function ownLayerNode(number: number): string {
  return number === 0 ? firstTopNode : `disk-${number}`;
}

/** The number of the layer of a node; undefined for nodes that are not a layer of the machine's own. */
function ownLayerOf(node: string): number | undefined {
  if (node === firstTopNode) return 0;
  const match = /^disk-([1-9][0-9]{0,5})$/.exec(node);
  return match ? Number(match[1]) : undefined;
}

/**
 * Asks QEMU for the layers in use, after removing the nodes that are not: an interrupted save may have left one. QEMU may be compromised, so only numbers
 * are taken from its answers, and the result can only name files of the machine: its own layers, and at least the template's of those that it was launched with.
 */
export async function readDiskChain(qmp: Monitor, launchedWith: number): Promise<DiskChain> {
  const [device] = blockDevices
    .parse(await qmp.execute('query-block'))
    .flatMap(({ inserted }) => (inserted ? [inserted] : []));
  const topNode = device?.['node-name'] ?? '';
  const top = ownLayerOf(topNode);
  if (device === undefined || top === undefined) throw new Error('QEMU does not say what its disk consists of.');
  for (const name of await diskNodes(qmp)) {
    // QEMU refuses to remove a node that is in use.
    if (name !== topNode) await qmp.execute('blockdev-del', { 'node-name': name }).catch(() => {});
  }
  const names = await diskNodes(qmp);
  const ownLayers = names.flatMap((name) => ownLayerOf(name) ?? []).sort((a, b) => a - b);
  const launchedLayers = names.length - ownLayers.length;
  const isPossible = launchedLayers >= baseLayers.diskLayers && launchedLayers <= launchedWith;
  const isComplete = Array.from({ length: launchedLayers }, (_, at) => `layer${at}`).every((name) =>
    names.includes(name),
  );
  if (!isPossible || !isComplete || ownLayers.at(-1) !== top || device.backing_file_depth !== names.length - 1) {
    throw new Error(`The layers of the machine's disk do not form a chain: ${names.join(', ')}.`);
  }
  return { launchedLayers, ownLayers };
}

/** The names of all nodes that are layers of the disk. */
async function diskNodes(qmp: Monitor): Promise<string[]> {
  const nodes = namedNodes.parse(await qmp.execute('query-named-block-nodes', { flat: true }));
  const names = nodes.flatMap((node) => node['node-name'] ?? []);
  return names.filter((name) => /^layer[0-9]{1,3}$/.test(name) || ownLayerOf(name) !== undefined);
}

/** Who runs the QEMU of a machine, and where its files are. */
export interface LayerOwner {
  readonly folder: string;
  readonly uid: number;
  readonly gid: number;
}

/** Makes an empty layer and tells QEMU about it, which does not use it yet. */
export async function addLayer(qmp: Monitor, owner: LayerOwner, number: number, emptyLayerPath: string): Promise<void> {
  const path = ownLayerPath(owner.folder, number);
  await rm(path, { force: true });
  await copyFile(emptyLayerPath, path, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  await chmod(path, 0o600);
  await chown(path, owner.uid, owner.gid);
  await qmp.execute('blockdev-add', topLayerNode(ownLayerNode(number), path));
}

/** Puts a layer that was added on top of the disk. The layer below is not written to any more. */
export async function stackLayer(qmp: Monitor, below: number, number: number): Promise<void> {
  await qmp.execute('blockdev-snapshot', { node: ownLayerNode(below), overlay: ownLayerNode(number) });
}

const jobId = 'flatten';

/** Copies everything above the template's layer into the top layer, so that the disk has as few layers as the disk of a new machine. */
export async function flattenDisk(
  qmp: Monitor,
  chain: DiskChain,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { promise: completed, resolve, reject } = Promise.withResolvers<void>();
  completed.catch(() => {});
  const stopListening = qmp.onEvent(({ event, data }) => {
    if (data.device !== jobId) return;
    if (event === 'BLOCK_JOB_COMPLETED' && data.error === undefined) resolve();
    else if (event === 'BLOCK_JOB_COMPLETED' || event === 'BLOCK_JOB_CANCELLED') {
      reject(new Error("The layers of the machine's disk could not be merged."));
    }
  });
  void qmp.closed.then(() => reject(new Error('QEMU exited during the save')));
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  aborted.promise.catch(() => {});
  signal.addEventListener('abort', abort);
  try {
    await qmp.execute('block-stream', {
      'job-id': jobId,
      device: ownLayerNode(chain.ownLayers.at(-1) ?? 0),
      'base-node': `layer${baseLayers.diskLayers - 1}`,
    });
    await withDeadline(
      "merging the layers of the machine's disk",
      deadlineMs,
      Promise.race([completed, aborted.promise]),
    );
  } catch (error) {
    if (error instanceof DeadlineExceeded || signal.aborted) {
      await qmp.execute('block-job-cancel', { device: jobId }).catch(() => {});
      // Until it has ended, the disk cannot be merged again.
      await withDeadline('cancelling', machineDeadlines.save.cancelFlattenMs, completed).catch(() => {});
    }
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    stopListening();
  }
}

/** Removes the machine's own layers that its disk does not consist of any more. */
export async function removeUnusedLayers(folder: string, { ownLayers }: DiskChain): Promise<void> {
  const used = new Set(ownLayers.map((number) => ownLayerPath(folder, number)));
  const paths = (await readdir(folder)).filter(isOwnLayer).map((name) => join(folder, name));
  await Promise.all(paths.filter((path) => !used.has(path)).map((path) => rm(path, { force: true })));
}

/** Whether a file in the folder of a machine is one of the layers of its disk. */
export function isOwnLayer(name: string): boolean {
  return /^disk(?:-[0-9]+)?\.qcow2$/.test(name);
}
