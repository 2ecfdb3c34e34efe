import { type SizeName, sizeNames, sizes } from '@mayfly/contract';
import { createGuestConnector } from '@mayfly/server/guest';
import {
  buildTemplate,
  maxBootAttempts,
  openTemplate,
  type QemuEngine,
  type Template,
  templateKey,
} from '@mayfly/server/machines';
import { SetupError } from '../announce.ts';
import type { GuestArtifacts } from '../artifacts.ts';
import { ensureEntry, findEntry } from '../cache/entry.ts';
import type { StepContext } from '../steps/step.ts';
import { warmUpWith } from './warm-up.ts';

export type Templates = Readonly<Record<SizeName, Template>>;

/** Where templates are built, and who is told. */
export type TemplateContext = Pick<StepContext, 'cacheDir' | 'announcer' | 'signal'>;

/** Returns the templates of all sizes and builds those that are not cached. */
export async function ensureTemplates(
  engine: QemuEngine,
  guest: GuestArtifacts,
  context: TemplateContext,
): Promise<Templates> {
  const templates: Partial<Record<SizeName, Template>> = {};
  for (const size of sizeNames) templates[size] = await ensureTemplate(size, engine, guest, context);
  return templates as Templates;
}

/** Returns the template of one size and builds it if it is not cached. */
export async function ensureTemplate(
  size: SizeName,
  engine: QemuEngine,
  guest: GuestArtifacts,
  { cacheDir, announcer, signal }: TemplateContext,
): Promise<Template> {
  const { kernel, initrd, disks } = guest.keys;
  const entry = { kind: `template-${size}`, key: templateKey(engine, size, [kernel, initrd, disks]) };
  const cached = await findEntry(cacheDir, entry);
  if (cached) return openTemplate(cached);
  const { vcpu, memoryGb } = sizes[size];
  const title = `template ${size} (${vcpu} CPUs, ${memoryGb} GB): booted once, then copied`;
  const folder = await announcer.step(title, (report) =>
    ensureEntry(entry, {
      cacheDir,
      onBusy: () => report('waiting for another set-up'),
      signal,
      build: async (stagingDir) => {
        const recipe = {
          engine,
          size,
          kernelPath: guest.kernelPath,
          kernelVersion: guest.kernelVersion,
          initrdPath: guest.initrdPath,
          basePath: guest.diskPaths[size],
          warmUp: warmUpWith(createGuestConnector()),
          onRetry: ({ message }: Error, attempt: number) => {
            const next = `Booting it again (attempt ${attempt + 1} of ${maxBootAttempts}).`;
            announcer.line(`  The ${size} template machine stalled: ${message}. ${next}`);
            report(`attempt ${attempt + 1}`);
          },
        };
        await buildTemplate(recipe, stagingDir, signal).catch((cause: unknown) => {
          throw new SetupError(`The ${size} template could not be built: ${describe(cause)}`, { cause });
        });
      },
    }),
  );
  return openTemplate(folder);
}

/** The messages of an error and its causes, one per line. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return [error.message, ...(error.cause ? [describe(error.cause)] : [])].join('\n  ');
}
