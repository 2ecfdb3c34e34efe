import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type SizeName, sizeNames, sizes } from '@mayfly/contract';
import { z } from 'zod';
import { buildArgv } from '../argv.ts';
import type { QemuEngine } from '../engine.ts';

const manifest = z.object({
  size: z.enum(sizeNames),
  arch: z.enum(['arm64', 'x64']),
  acceleration: z.enum(['kvm', 'tcg']),
  machineType: z.string(),
  qemuVersion: z.string(),
  kernelVersion: z.string(),
  /** The read-only disk below the template's own layer. */
  basePath: z.string(),
  createdAtMs: z.number().int(),
  /** Time from the start of the kernel to the first answer of the agent. */
  bootMs: z.number().int(),
  /** How long the kernel had been running when it was saved. Every copy reports at least this uptime. */
  savedAtUptimeMs: z.number().int(),
});

export type TemplateManifest = z.infer<typeof manifest>;

/** The file that describes a template. It is written last, so a template that has it is complete. */
export const manifestName = 'template.json';

/** A saved machine of one size, from which machines are restored. */
export interface Template {
  readonly manifest: TemplateManifest;
  readonly folder: string;
  readonly ramPath: string;
  readonly statePath: string;
  readonly diskPath: string;
  /** An empty disk layer; each machine gets a copy. */
  readonly emptyLayerPath: string;
}

/** The files of the template in a folder. */
export function templateFiles(folder: string): Omit<Template, 'manifest'> {
  return {
    folder,
    ramPath: join(folder, 'ram'),
    statePath: join(folder, 'state'),
    diskPath: join(folder, 'disk.qcow2'),
    emptyLayerPath: join(folder, 'empty.qcow2'),
  };
}

/** Opens the template in a folder. Throws when it is missing or incomplete. */
export async function openTemplate(folder: string): Promise<Template> {
  const text = await readFile(join(folder, manifestName), 'utf8').catch((cause: unknown) => {
    throw new Error(`There is no template in ${folder}. Run npm start to build it.`, { cause });
  });
  return { ...templateFiles(folder), manifest: manifest.parse(JSON.parse(text)) };
}

/** Increase it when templates are built or warmed up differently without a change of the command line. */
const recipeVersion = 1;

/** The hash of everything a template is made of. It changes with the kernel, the agent, the disk, QEMU, the device model and, with KVM, the host's CPU. */
export function templateKey(engine: QemuEngine, size: SizeName, guestKeys: readonly string[]): string {
  const argv = bootArgv(engine, size);
  const { versionText, hostCpu } = engine;
  return hashOf({ recipeVersion, versionText, hostCpu, size, guestKeys, argv });
}

/** The options that define the devices of a machine. A saved state loads only where they are equal. */
const deviceOptions: readonly string[] = ['-machine', '-cpu', '-smp', '-m', '-device'];

/** The hash of the device model of machines of a size. */
export function deviceModelHash(engine: QemuEngine, size: SizeName): string {
  const argv = bootArgv(engine, size);
  return hashOf(argv.flatMap((word, at) => (deviceOptions.includes(word) ? [word, argv[at + 1]] : [])));
}

function bootArgv(engine: QemuEngine, size: SizeName): string[] {
  return buildArgv({
    engine,
    name: 'key',
    resources: sizes[size],
    ramPath: '/ram',
    disk: [
      { format: 'raw', path: '/base' },
      { format: 'qcow2', path: '/top' },
    ],
    sockets: { qmp: { path: '/qmp' }, control: { path: '/control' }, data: { path: '/data' } },
    tapName: 'tap0',
    start: { kind: 'boot', kernelPath: '/kernel', initrdPath: '/initrd', consolePath: '/console' },
  });
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}
