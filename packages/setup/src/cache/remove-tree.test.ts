import { expect, test } from 'vitest';
import { findMountsBelow, removeTree } from './remove-tree.ts';

const mountinfo = [
  '1 0 254:0 / / rw - ext4 /dev/vda rw',
  '2 1 0:5 / /cache/.building/disks-a/tree/proc rw - proc proc rw',
  '3 1 0:6 / /cache/.building/with\\040space/dev rw - tmpfs tmpfs rw',
  '4 1 0:7 / /cache/.building/disks-ab/sys rw - sysfs sys rw',
  '',
].join('\n');

test('mounts in a folder are found, those beside it are not', () => {
  expect(findMountsBelow(mountinfo, '/cache/.building/disks-a')).toEqual(['/cache/.building/disks-a/tree/proc']);
  expect(findMountsBelow(mountinfo, '/cache/.building/disks-a/tree/proc')).toHaveLength(1);
  expect(findMountsBelow(mountinfo, '/cache/.building/with space')).toEqual(['/cache/.building/with space/dev']);
  expect(findMountsBelow(mountinfo, '/cache/kernel')).toEqual([]);
});

test('a tree with something mounted in it is not removed', async () => {
  await expect(removeTree('/proc')).rejects.toThrow('mounted on /proc');
});
