import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Says in a log that its beginning is gone. */
const notice = '[earlier lines were dropped]\n';

/**
 * Cuts a log that has grown beyond maxBytes to its last lines, at most half of that. Safe while a process appends to it (the file stays
 * the same one); what that process writes during the cut may be lost. A log that is no plain file is refused, never followed.
 */
export const trimLog = async (path: string, maxBytes: number): Promise<boolean> => {
  const { O_RDWR, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
  const log = await open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK);
  try {
    const { size, ...stats } = await log.stat();
    if ((stats.mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error(`${path} is not a file`);
    if (size <= maxBytes) return false;
    const keepBytes = Math.floor(maxBytes / 2);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(keepBytes), 0, keepBytes, size - keepBytes);
    const tail = buffer.subarray(0, bytesRead);
    await log.truncate(0);
    await log.write(Buffer.concat([Buffer.from(notice), tail.subarray(tail.indexOf('\n') + 1)]));
    return true;
  } finally {
    await log.close();
  }
};
