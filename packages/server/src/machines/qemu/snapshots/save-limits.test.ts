import { once } from 'node:events';
import { expect, test } from 'vitest';
import { HostFull } from '../../../core/ports/machine-driver.ts';
import { SaveLimits } from './save-limits.ts';

/** Limits on a disk with a reserve of 100 bytes. */
function limitsOn(disk: { freeBytes: number }, deadlineMs = 60_000): SaveLimits {
  return new SaveLimits({
    folder: '/data',
    diskReserveBytes: 100,
    deadlineMs,
    freeBytesOf: async () => disk.freeBytes,
  });
}

test('saves at the same time do not count on the same free space', async () => {
  const limits = limitsOn({ freeBytes: 1_000 });
  const [first, second] = await Promise.allSettled([limits.admit(500), limits.admit(500)]);
  if (first.status === 'rejected') throw first.reason;
  expect(second).toMatchObject({ status: 'rejected', reason: expect.any(HostFull) });
  first.value[Symbol.dispose]();
  using again = await limits.admit(500);
  expect(again).toBeDefined();
});

test('a save that would leave less than the reserve does not start', async () => {
  await expect(limitsOn({ freeBytes: 649 }).admit(500)).rejects.toThrow('Delete snapshots, or free space there.');
});

test('a save is cancelled when the disk becomes full, and any failure of it says so', async () => {
  const disk = { freeBytes: 1_000 };
  const limits = limitsOn(disk);
  const failure = new Error('QEMU gave up');
  expect(await limits.explain(failure)).toBe(failure);
  using watch = limits.watch();
  disk.freeBytes = 120;
  await once(watch.signal, 'abort');
  expect(watch.signal.reason).toBeInstanceOf(HostFull);
  expect(await limits.explain(failure)).toBeInstanceOf(HostFull);
});

test('a save that takes too long is cancelled, which says so', async () => {
  using watch = limitsOn({ freeBytes: 1_000 }, 10).watch();
  await once(watch.signal, 'abort');
  expect(String(watch.signal.reason)).toContain('took longer than');
});
