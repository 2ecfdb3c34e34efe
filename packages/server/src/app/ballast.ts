import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskBallast } from '../core/ports/runtime.ts';
import { runProgram } from '../machines/host/run-program.ts';

/** Its file in the data folder. */
export const ballastName = 'ballast';

const largestBytes = 64 * 1024 ** 2;

/** The share of the disk reserve that the ballast takes. */
const reserveShare = 1 / 8;

const allocateDeadlineMs = 30_000;

/** The ballast of a data folder: a file that occupies disk space until the database needs it. It is held by the first check that finds room. */
export function openBallast(dataDir: string, diskReserveBytes: number): DiskBallast {
  const path = join(dataDir, ballastName);
  const sizeBytes = Math.min(Math.floor(diskReserveBytes * reserveShare), largestBytes);
  let isHeld = sizeBytes === 0 || existsSync(path);
  return {
    sizeBytes,
    get isHeld() {
      return isHeld;
    },
    release: async () => {
      await rm(path, { force: true });
      isHeld = false;
    },
    hold: async () => {
      // Writes the blocks where the file system cannot reserve them.
      const args = ['--posix', '--length', String(sizeBytes), path];
      await runProgram('fallocate', args, { deadlineMs: allocateDeadlineMs }).catch(async (error: unknown) => {
        await rm(path, { force: true });
        throw error;
      });
      isHeld = true;
    },
  };
}
