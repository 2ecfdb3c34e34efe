import type { Announcer, ReportDetail } from '../announce.ts';
import { type CacheEntry, ensureEntry, entryPath, hasEntry } from '../cache/entry.ts';

/** What every step is given. */
export interface StepContext {
  readonly cacheDir: string;
  /** process.arch of host and guest. */
  readonly arch: 'arm64' | 'x64';
  readonly announcer: Announcer;
  /** Lines of a sources.list for Debian 13; empty means the default of mmdebstrap. */
  readonly debianSources: readonly string[];
  readonly signal: AbortSignal;
}

/** What a step's build is given: the empty folder to fill, and how to say what it is busy with. */
export type BuildEntry = (folder: string, report: ReportDetail) => Promise<void>;

/** The folder of a cached entry, built as an announced step when it is not there yet. */
export async function ensureStep(
  context: StepContext,
  title: string,
  entry: CacheEntry,
  build: BuildEntry,
): Promise<string> {
  const { cacheDir, announcer, signal } = context;
  if (await hasEntry(cacheDir, entry)) {
    announcer.line(`✓ ${title} (cached)`);
    return entryPath(cacheDir, entry);
  }
  return await announcer.step(title, (report) =>
    ensureEntry(entry, {
      cacheDir,
      signal,
      onBusy: () => {
        announcer.line(`  ${title}: waiting for another set-up that is making it`);
        report('waiting for another set-up');
      },
      build: (folder) => build(folder, report),
    }),
  );
}
