import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskBallast } from '../core/ports/runtime.ts';

/** Its file in the data folder. */
export const ballastName = 'ballast';

export const largestBytes = 64 * 1024 ** 2;

/** The share of the disk reserve that the ballast takes. */
const reserveShare = 1 / 8;

const pieceBytes = 1024 ** 2;

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
      await fill(path, sizeBytes).catch(async (error: unknown) => {
        await rm(path, { force: true });
        throw error;
      });
      isHeld = true;
    },
  };
}

/** Writes a file that no file system can store in less space. The service starts no programs, so `fallocate` is not an option. */
async function fill(path: string, sizeBytes: number): Promise<void> {
  const piece = randomBytes(Math.min(pieceBytes, sizeBytes));
  await using file = await open(path, 'w', 0o600);
  for (let leftBytes = sizeBytes; leftBytes > 0; ) {
    const { bytesWritten } = await file.write(piece, 0, Math.min(piece.length, leftBytes));
    leftBytes -= bytesWritten;
  }
}
