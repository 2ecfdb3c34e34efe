import type { AptArchive, HostFacts } from './facts.ts';
import { missingFor, type Purpose, postgresPackage, type RequiredTool } from './required-tools.ts';

/** What has to be installed, and how. */
export interface InstallPlan {
  /** Packages of the host's own release. */
  readonly packages: readonly string[];
  /** Packages that the release has only in a version too old; taken from `backportsSuite`. */
  readonly backportsPackages: readonly string[];
  readonly backportsSuite: string;
  /** The archive to add first, when apt does not know the backports suite yet. */
  readonly archiveToAdd: AptArchive | undefined;
}

/** Where the added archive is written. */
export const backportsSourcesPath = '/etc/apt/sources.list.d/mayfly-backports.sources';

/** Releases whose own QEMU is too old and that have a newer one in their backports. */
const releasesWithOldQemu: readonly string[] = ['bookworm'];

/** What is missing on this host and where it comes from; undefined when nothing is. */
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

/** Whether a call would also make and start a database server. */
export function bringsServer(aptCall: readonly string[]): boolean {
  return aptCall.includes(postgresPackage);
}

/** The arguments of the apt-get calls that install what the plan says, in order. */
export function aptInstallCalls(plan: InstallPlan): readonly (readonly string[])[] {
  const calls: (readonly string[])[] = [];
  if (plan.packages.length > 0) calls.push(['install', '--yes', '--no-install-recommends', ...plan.packages]);
  if (plan.backportsPackages.length > 0) {
    const suite = ['-t', plan.backportsSuite];
    calls.push(['install', '--yes', '--no-install-recommends', ...suite, ...plan.backportsPackages]);
  }
  return calls;
}
