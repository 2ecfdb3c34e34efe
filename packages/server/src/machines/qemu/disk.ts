import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Makes an empty qcow2 layer of a given size. What lies under it is named when QEMU is started, never in the file. */
export const createEmptyLayer = async (path: string, sizeGb: number): Promise<void> => {
  await promisify(execFile)(
    'qemu-img',
    ['create', '-q', '-f', 'qcow2', '-o', 'lazy_refcounts=on', path, `${sizeGb}G`],
    {
      timeout: 30_000,
    },
  );
};
