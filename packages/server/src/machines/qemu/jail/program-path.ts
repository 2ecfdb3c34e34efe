import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

/** Where the programs of a host are. */
const folders = ['/usr/local/bin', '/usr/bin', '/usr/local/sbin', '/usr/sbin'];

/** The absolute path of a program, as a jail needs it. Fails when the host has none. */
export const findProgram = async (name: string): Promise<string> => {
  const candidates = isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name));
  for (const path of candidates) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  throw new Error(`${name} is in none of ${folders.join(', ')}: run npm start as root, it installs what is missing`);
};
