import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ScriptedMonitor } from '../../../../test/machines/scripted-monitor.ts';
import { flattenDisk, ownLayerPath, readDiskChain, removeUnusedLayers } from './disk-chain.ts';

/** A QEMU with these nodes, of which those in use form the disk, the top one last. */
function qemu(used: readonly string[], unused: readonly string[] = []): ScriptedMonitor {
  const nodes = new Set([...used, ...unused, '#block123']);
  return new ScriptedMonitor({
    'query-block': () => [{ inserted: { 'node-name': used.at(-1), backing_file_depth: used.length - 1 } }],
    'query-named-block-nodes': () => Array.from(nodes, (name) => ({ 'node-name': name })),
    'blockdev-del': ({ 'node-name': name }) => {
      if (typeof name !== 'string' || used.includes(name)) throw new Error('the node is in use');
      nodes.delete(name);
      return {};
    },
  });
}

test('the disk of a new machine has one layer of its own', async () => {
  expect(await readDiskChain(qemu(['layer0', 'layer1', 'root']), 2)).toEqual({ launchedLayers: 2, ownLayers: [0] });
});

test('layers of saves are counted, and those that an interrupted save left are removed from QEMU', async () => {
  const monitor = qemu(['layer0', 'layer1', 'layer2', 'root', 'disk-1', 'disk-11'], ['disk-2', 'disk-12']);
  expect(await readDiskChain(monitor, 3)).toEqual({ launchedLayers: 3, ownLayers: [0, 1, 11] });
});

test('a flattened disk has no layers between the template and the top', async () => {
  const monitor = qemu(['layer0', 'layer1', 'disk-7'], ['layer2', 'root', 'disk-6']);
  expect(await readDiskChain(monitor, 3)).toEqual({ launchedLayers: 2, ownLayers: [7] });
});

test.each([
  ['no name of its disk', [''], 'does not say'],
  ['a disk of another name', ['layer0', 'layer1', '../../etc/shadow'], 'does not say'],
  ['a gap between the layers below', ['layer0', 'layer2', 'root'], 'do not form a chain'],
  ['a layer above the one that is written', ['layer0', 'layer1', 'disk-2', 'disk-1'], 'do not form a chain'],
  ['a disk without the layers of the template', ['layer0', 'root'], 'do not form a chain'],
  ['more layers than it was launched with', ['layer0', 'layer1', 'layer2', 'layer3', 'root'], 'do not form a chain'],
])('a QEMU that reports %s is not believed', async (_what, nodes, message) => {
  await expect(readDiskChain(qemu(nodes), 3)).rejects.toThrow(message);
});

test('answers without sense fail instead of being used', async () => {
  for (const answer of [null, {}, [{ inserted: { 'node-name': 7 } }], Array.from({ length: 1_000 }, () => ({}))]) {
    await expect(readDiskChain(new ScriptedMonitor({ 'query-block': () => answer }), 2)).rejects.toThrow();
  }
});

test('a flattening that fails, takes too long or is cancelled is an error, and QEMU has ended it', async () => {
  const chain = { launchedLayers: 3, ownLayers: [0, 1] };
  const { signal } = new AbortController();
  let isEnded = false;
  const monitor: ScriptedMonitor = new ScriptedMonitor({
    'block-stream': () => ({}),
    'block-job-cancel': () => {
      setImmediate(() => {
        isEnded = true;
        monitor.emit('BLOCK_JOB_CANCELLED', { device: 'flatten' });
      });
      return {};
    },
  });
  await expect(flattenDisk(monitor, chain, 10, signal)).rejects.toThrow('took longer than');
  expect(monitor.commands).toEqual(['block-stream', 'block-job-cancel']);
  const cancel = new AbortController();
  isEnded = false;
  void monitor.ran('block-stream').then(() => cancel.abort(new Error('The save was cancelled.')));
  await expect(flattenDisk(monitor, chain, 10_000, cancel.signal)).rejects.toThrow('The save was cancelled.');
  expect(isEnded).toBe(true);
  const failed = flattenDisk(monitor, chain, 10_000, signal);
  monitor.emit('BLOCK_JOB_COMPLETED', { device: 'flatten', error: 'No space left on device' });
  await expect(failed).rejects.toThrow('could not be merged');
});

test('layers that the disk does not need any more are removed, and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-layers-'));
  try {
    const names = ['disk.qcow2', 'disk-1.qcow2', 'disk-2.qcow2', 'machine.json', 'disk-2.qcow2.txt'];
    for (const name of names) await writeFile(join(folder, name), '');
    await removeUnusedLayers(folder, { launchedLayers: 2, ownLayers: [2] });
    expect((await readdir(folder)).sort()).toEqual(['disk-2.qcow2', 'disk-2.qcow2.txt', 'machine.json']);
    expect(ownLayerPath(folder, 0)).toBe(join(folder, 'disk.qcow2'));
  } finally {
    await rm(folder, { recursive: true });
  }
});
