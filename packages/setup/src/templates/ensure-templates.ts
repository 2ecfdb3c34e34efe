import { type SizeName, sizeNames, sizes } from '@mayfly/contract';
import { createGuestConnector } from '@mayfly/server/guest/connector.ts';
import type { QemuEngine } from '@mayfly/server/machines/qemu/host/engine.ts';
import { buildTemplate } from '@mayfly/server/machines/qemu/template/build.ts';
import { templateKey } from '@mayfly/server/machines/qemu/template/key.ts';
import { openTemplate, type Template } from '@mayfly/server/machines/qemu/template/manifest.ts';
import type { Announcer } from '../announce.ts';
import type { GuestArtifacts } from '../artifacts.ts';
import { ensureEntry, entryPath, hasEntry } from '../cache/entry.ts';
import { SetupError } from '../setup-error.ts';
import { warmUpWith } from './warm-up.ts';

export type Templates = Readonly<Record<SizeName, Template>>;

/** An error with what caused it, on one line each. */
const describe = (error: unknown): string =>
  error instanceof Error
    ? [error.message, ...(error.cause ? [describe(error.cause)] : [])].join('\n  ')
    : String(error);

const ensureTemplate = async (
  size: SizeName,
  engine: QemuEngine,
  guest: GuestArtifacts,
  cacheDir: string,
  announcer: Announcer,
  signal: AbortSignal,
): Promise<Template> => {
  const { kernel, initrd, disks } = guest.keys;
  const entry = { kind: `template-${size}`, key: templateKey(engine, size, [kernel, initrd, disks]) };
  if (await hasEntry(cacheDir, entry)) return openTemplate(entryPath(cacheDir, entry));
  const { vcpu, memoryGb } = sizes[size];
  const title = `template ${size} (${vcpu} CPUs, ${memoryGb} GB): booted once, then copied`;
  const folder = await announcer.step(title, (report) =>
    ensureEntry(entry, {
      cacheDir,
      onBusy: () => report('waiting for another set-up'),
      signal,
      build: async (building) => {
        signal.throwIfAborted();
        await buildTemplate(
          {
            engine,
            size,
            kernelPath: guest.kernelPath,
            kernelVersion: guest.kernelVersion,
            initrdPath: guest.initrdPath,
            basePath: guest.diskPaths[size],
            warmUp: warmUpWith(createGuestConnector()),
          },
          building,
          signal,
        ).catch((cause: unknown) => {
          throw new SetupError(`The ${size} template could not be built: ${describe(cause)}`, { cause });
        });
      },
    }),
  );
  return openTemplate(folder);
};

/** The templates of all sizes, built where they are not cached yet. */
export const ensureTemplates = async (
  engine: QemuEngine,
  guest: GuestArtifacts,
  cacheDir: string,
  announcer: Announcer,
  signal: AbortSignal,
): Promise<Templates> => {
  const templates: Partial<Record<SizeName, Template>> = {};
  for (const size of sizeNames) {
    templates[size] = await ensureTemplate(size, engine, guest, cacheDir, announcer, signal);
  }
  return templates as Templates;
};
