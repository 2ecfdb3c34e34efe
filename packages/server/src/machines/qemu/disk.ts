import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Makes an empty qcow2 layer, as large as what lies under it. What lies under it is named when QEMU is started, never in the file. */
export const createEmptyLayer = async (path: string, sizeBytes: number): Promise<void> => {
  await promisify(execFile)(
    'qemu-img',
    ['create', '-q', '-f', 'qcow2', '-o', 'lazy_refcounts=on', path, String(sizeBytes)],
    {
      timeout: 30_000,
    },
  );
};
