import type { Announcer, ReportDetail } from '../announce.ts';
import { type CacheEntry, ensureEntry, findEntry } from '../cache/entry.ts';

/** What every step is given. */
export interface StepContext {
  readonly cacheDir: string;
  /** process.arch of host and guest. */
  readonly arch: 'arm64' | 'x64';
  readonly announcer: Announcer;
  /** Lines of a sources.list for Debian 13; empty for mmdebstrap's default. */
  readonly debianSources: readonly string[];
  readonly signal: AbortSignal;
}

/** Fills the empty staging folder of an entry. */
export type BuildEntry = (stagingDir: string, report: ReportDetail) => Promise<void>;

/** The folder of a cached entry, built as an announced step if it does not exist yet. */
export async function ensureStep(
  context: StepContext,
  title: string,
  entry: CacheEntry,
  build: BuildEntry,
): Promise<string> {
  const { cacheDir, announcer, signal } = context;
  const cached = await findEntry(cacheDir, entry);
  if (cached) {
    announcer.line(`✓ ${title} (cached)`);
    return cached;
  }
  return await announcer.step(title, (report) =>
    ensureEntry(entry, {
      cacheDir,
      signal,
      onBusy: () => {
        announcer.line(`  ${title}: waiting for another set-up that is building it`);
        report('waiting for another set-up');
      },
      build: (stagingDir) => build(stagingDir, report),
    }),
  );
}
