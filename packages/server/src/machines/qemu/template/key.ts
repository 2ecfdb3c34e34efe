import { createHash } from 'node:crypto';
import { type SizeName, sizes } from '@mayfly/contract';
import { buildArgv } from '../argv.ts';
import type { QemuEngine } from '../host/engine.ts';

/** Raised when the way templates are built or warmed up changes without a change of the command line. */
const recipeVersion = 1;

/** The hash of everything that goes into a template: a changed kernel, agent, disk, QEMU or device gives another one. */
export const templateKey = (engine: QemuEngine, size: SizeName, guestKeys: readonly string[]): string => {
  const path = (name: string) => `/${name}`;
  const argv = buildArgv({
    engine,
    name: 'key',
    resources: sizes[size],
    ramPath: path('ram'),
    disk: [
      { format: 'raw', path: path('base') },
      { format: 'qcow2', path: path('top') },
    ],
    sockets: { qmp: { path: '/qmp' }, control: { path: '/control' }, data: { path: '/data' } },
    tapName: 'tap0',
    start: { kind: 'boot', kernelPath: path('kernel'), initrdPath: path('initrd'), consolePath: path('console') },
  });
  return createHash('sha256')
    .update(JSON.stringify({ recipeVersion, versionText: engine.versionText, size, guestKeys, argv }))
    .digest('hex')
    .slice(0, 16);
};
