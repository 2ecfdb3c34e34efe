import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeNames } from '@mayfly/contract';
import { z } from 'zod';

const manifest = z.object({
  size: z.enum(sizeNames),
  arch: z.enum(['arm64', 'x64']),
  acceleration: z.enum(['kvm', 'tcg']),
  machineType: z.string(),
  qemuVersion: z.string(),
  kernelVersion: z.string(),
  /** The read-only disk under the template's own layer. */
  basePath: z.string(),
  createdAtMs: z.number().int(),
  /** How long the template's kernel took from its start to a first answer of the agent. */
  bootMs: z.number().int(),
  /** How long the template's kernel had been running when it was saved: no copy shows less. */
  savedAtUptimeMs: z.number().int(),
});

export type TemplateManifest = z.infer<typeof manifest>;

/** The file that says what a template is; written last, so a template with one is whole. */
export const manifestName = 'template.json';

/** A saved machine of one size that copies are restored from. */
export interface Template {
  readonly manifest: TemplateManifest;
  readonly folder: string;
  readonly ramPath: string;
  readonly statePath: string;
  readonly diskPath: string;
  /** An empty layer to copy for each machine. */
  readonly emptyLayerPath: string;
}

/** The files of a template in a folder. */
export const templateFiles = (folder: string): Omit<Template, 'manifest'> => ({
  folder,
  ramPath: join(folder, 'ram'),
  statePath: join(folder, 'state'),
  diskPath: join(folder, 'disk.qcow2'),
  emptyLayerPath: join(folder, 'empty.qcow2'),
});

/** Opens the template in a folder; fails when it is not whole. */
export const openTemplate = async (folder: string): Promise<Template> => {
  const text = await readFile(join(folder, manifestName), 'utf8').catch((cause: unknown) => {
    throw new Error(`no template in ${folder}: run npm start to build it`, { cause });
  });
  return { ...templateFiles(folder), manifest: manifest.parse(JSON.parse(text)) };
};
