import { chmodSync, closeSync, constants, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** A unix socket that only its owner can ever have reached. */
export interface PrivateSocket {
  /** Where to bind; short, however long the folder's path is (the kernel takes 107 bytes). */
  readonly bindPath: string;
  /** Once it listens: puts it in its place, over what a killed service left there. */
  publish(): void;
  /** Once it listens no more. */
  remove(): void;
}

/** Prepares a socket of that name in the folder. It is bound in a folder that nobody else can enter and moved when its mode is right. */
export function preparePrivateSocket(folder: string, name: string): PrivateSocket {
  const nursery = join(folder, `${name}.new`);
  const place = join(folder, name);
  rmSync(nursery, { recursive: true, force: true });
  mkdirSync(nursery, { mode: 0o700 });
  // Held until the end: whoever bound the socket unlinks it by this path when closing it.
  const handle = openSync(nursery, constants.O_RDONLY | constants.O_DIRECTORY);
  const removeNursery = () => rmSync(nursery, { recursive: true, force: true });
  let published = false;
  return {
    bindPath: `/proc/self/fd/${handle}/${name}`,
    publish: () => {
      chmodSync(join(nursery, name), 0o600);
      renameSync(join(nursery, name), place);
      published = true;
      removeNursery();
    },
    remove: () => {
      if (published) rmSync(place, { force: true });
      removeNursery();
      closeSync(handle);
    },
  };
}
