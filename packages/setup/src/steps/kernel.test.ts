import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { collectModules, moduleName, readDependencies } from './kernel.ts';

const module = (info: string) => Buffer.from(`\x7fELF\0${info.replaceAll(' | ', '\0')}\0name=x\0`);

test('dependencies are read from the module, soft ones included', () => {
  expect(readDependencies(module('alias=a | depends=jbd2,mbcache | softdep=pre: crc32c other-one post: late'))).toEqual(
    ['jbd2', 'mbcache', 'crc32c', 'other_one'],
  );
  expect(readDependencies(module('depends='))).toEqual([]);
  expect(moduleName('kernel/char/virtio-rng.ko.xz')).toBe('virtio_rng');
});

test('modules are collected with what they need, in loading order, without what is built in', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-modules-'));
  const tree = join(folder, 'tree');
  const target = join(folder, 'target');
  await mkdir(join(tree, 'kernel/net'), { recursive: true });
  await mkdir(target);
  await writeFile(join(tree, 'modules.builtin'), 'kernel/fs/ext4/ext4.ko\n');
  await writeFile(join(tree, 'kernel/net/virtio_net.ko'), module('depends=net-failover'));
  await writeFile(join(tree, 'kernel/net/net_failover.ko'), module('depends=failover'));
  await writeFile(join(tree, 'kernel/net/failover.ko'), module('depends='));
  await collectModules(tree, ['ext4', 'virtio_net'], target);
  expect(await readFile(join(target, 'order'), 'utf8')).toBe('failover.ko\nnet_failover.ko\nvirtio_net.ko\n');
  expect(await readdir(target)).toEqual(['failover.ko', 'net_failover.ko', 'order', 'virtio_net.ko']);
  await expect(collectModules(tree, ['virtio_blk'], target)).rejects.toThrow('no module virtio_blk');
  await rm(folder, { recursive: true });
});
