import {
  type AptArchive,
  type HostFacts,
  missingFor,
  type Purpose,
  postgresPackage,
  type RequiredTool,
} from './requirements.ts';

/** Which packages have to be installed, and from where. */
export interface InstallPlan {
  /** Packages of the host's own release. */
  readonly packages: readonly string[];
  /** Packages that are too old in the release itself and come from `backportsSuite`. */
  readonly backportsPackages: readonly string[];
  readonly backportsSuite: string;
  /** The archive to add first, if apt does not know the backports suite yet. */
  readonly archiveToAdd: AptArchive | undefined;
}

/** The sources file that set-up adds. */
export const backportsSourcesPath = '/etc/apt/sources.list.d/mayfly-backports.sources';

/** Releases whose own QEMU is too old, but whose backports have a newer one. */
const releasesWithOldQemu: readonly string[] = ['bookworm'];

/** What has to be installed on this host; undefined when nothing is missing. */
export function planInstall(facts: HostFacts, purpose: Purpose): InstallPlan | undefined {
  const missing = missingFor(facts, purpose);
  if (missing.length === 0) return undefined;
  const { codename } = facts.distribution;
  const backportsSuite = `${codename}-backports`;
  const fromBackports = (tool: RequiredTool) =>
    tool.minimumVersion !== undefined && facts.distribution.id === 'debian' && releasesWithOldQemu.includes(codename);
  const backportsPackages = missing.filter(fromBackports).map((tool) => tool.debianPackage);
  const ownArchive = facts.archives.find((archive) => archive.suite === codename);
  const knowsBackports = facts.archives.some((archive) => archive.suite === backportsSuite);
  return {
    packages: missing.filter((tool) => !fromBackports(tool)).map((tool) => tool.debianPackage),
    backportsPackages,
    backportsSuite,
    archiveToAdd:
      backportsPackages.length > 0 && !knowsBackports && ownArchive
        ? { uri: ownArchive.uri, suite: backportsSuite }
        : undefined,
  };
}

/** The arguments of the apt-get calls that carry out the plan, in order. */
export function aptInstallCalls(plan: InstallPlan): readonly (readonly string[])[] {
  const calls: (readonly string[])[] = [];
  if (plan.packages.length > 0) calls.push(['install', '--yes', '--no-install-recommends', ...plan.packages]);
  if (plan.backportsPackages.length > 0) {
    const suite = ['-t', plan.backportsSuite];
    calls.push(['install', '--yes', '--no-install-recommends', ...suite, ...plan.backportsPackages]);
  }
  return calls;
}

/** Whether an apt-get call would also create and start a database server. */
export function bringsServer(aptCall: readonly string[]): boolean {
  return aptCall.includes(postgresPackage);
}

/** The Signed-By of an archive in a sources file: a key file or an embedded key; undefined when the file names none. */
export function findSignedBy(sourcesText: string, uri: string): string | undefined {
  const isSameUri = (text: string) => text.replace(/\/+$/, '') === uri;
  for (const stanza of sourcesText.split(/\n[ \t]*\n/)) {
    const uris = /^URIs:(.*)$/im.exec(stanza)?.[1]?.trim().split(/\s+/) ?? [];
    const signedBy = /^Signed-By:(.*(?:\n[ \t].*)*)/im.exec(stanza)?.[1]?.trim();
    if (signedBy && uris.some(isSameUri)) return signedBy;
  }
  for (const line of sourcesText.split('\n')) {
    const [, options, lineUri] = /^deb\s+\[(.*)\]\s+(\S+)/.exec(line.trim()) ?? [];
    const signedBy = options && /signed-by=(\S+)/.exec(options)?.[1];
    if (signedBy && lineUri !== undefined && isSameUri(lineUri)) return signedBy;
  }
  return undefined;
}

/** A sources file for one more suite of an archive that the host already trusts. */
export function formatSources(archive: AptArchive, signedBy: string): string {
  return [
    'Types: deb',
    `URIs: ${archive.uri}`,
    `Suites: ${archive.suite}`,
    'Components: main',
    `Signed-By: ${signedBy}`,
    '',
  ].join('\n');
}
