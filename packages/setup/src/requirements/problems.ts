import { checkHostSupport, describeHostProblems, type HostPaths } from '@mayfly/server/machines';
import { SetupError } from '../announce.ts';
import { aptInstallCalls, backportsSourcesPath, formatSources, type InstallPlan, planInstall } from './install-plan.ts';
import { debianKeyring, type HostFacts, minimumQemuVersion, missingFor, type Purpose } from './requirements.ts';

/** Something this host lacks, and what the operator can do about it. */
export interface SetupProblem {
  readonly need: string;
  readonly remedy: string;
}

export interface SetupDemand {
  /** Whether the kernel or the disks have to be built, which takes more disk and memory. */
  readonly mustBuild: boolean;
  readonly cacheDir: string;
  readonly purpose: Purpose;
}

const gib = 2 ** 30;
/** A machine sold as "4 GB" reports a little less. */
const minimumTotalMemoryBytes = 3.5 * gib;
export const minimumBuildMemoryBytes = 1.5 * gib;
export const minimumBuildDiskBytes = 6 * gib;
export const minimumDiskBytes = 1 * gib;
/** Releases that offer no QEMU that is new enough, not even in their backports. */
const releasesWithoutGoodQemu: readonly string[] = ['buster', 'bullseye', 'bionic', 'focal', 'jammy'];

/** Throws if the host lacks something for machines that no package installs. Runs before set-up changes anything. */
export async function refuseUnfitHost(places?: HostPaths): Promise<void> {
  // A wrong platform and missing root are reported by findProblems, together with everything else.
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return;
  const problems = await checkHostSupport(places);
  if (problems.length > 0) throw new SetupError(describeHostProblems(problems));
}

/** Everything that prevents set-up on this host; empty when it can proceed. */
export function findProblems(facts: HostFacts, demand: SetupDemand): readonly SetupProblem[] {
  if (facts.platform !== 'linux') {
    const remedy = 'Run Mayfly on a Linux machine or in a Linux virtual machine.';
    return [{ need: `Linux (this is ${facts.platform})`, remedy }];
  }
  if (facts.arch !== 'arm64' && facts.arch !== 'x64') {
    const remedy = 'Run Mayfly on an arm64 or x86_64 machine.';
    return [{ need: `a 64-bit ARM or x86 processor (this is ${facts.arch})`, remedy }];
  }
  return [
    ...memoryProblems(facts, demand),
    ...diskProblems(facts, demand),
    ...packageProblems(facts, demand),
    ...rootProblems(facts),
  ];
}

/** One message that lists all problems. */
export function formatProblems(problems: readonly SetupProblem[]): string {
  const items = problems.map(({ need, remedy }) => `  • Needs ${need}.\n    ${remedy.replaceAll('\n', '\n    ')}`);
  return ['Mayfly cannot be set up on this machine yet. Nothing was changed.', ...items].join('\n');
}

function memoryProblems({ memory }: HostFacts, { mustBuild }: SetupDemand): readonly SetupProblem[] {
  if (memory.totalBytes < minimumTotalMemoryBytes) {
    const need = `4 GiB of memory (this machine has ${formatGib(memory.totalBytes)})`;
    return [{ need, remedy: 'Use a larger machine.' }];
  }
  if (mustBuild && memory.availableBytes < minimumBuildMemoryBytes) {
    const need = `${formatGib(minimumBuildMemoryBytes)} of free memory to build the guest image (${formatGib(memory.availableBytes)} are available)`;
    return [{ need, remedy: 'Stop other programs, then try again.' }];
  }
  return [];
}

function diskProblems({ cacheFreeBytes }: HostFacts, { mustBuild, cacheDir }: SetupDemand): readonly SetupProblem[] {
  const neededBytes = mustBuild ? minimumBuildDiskBytes : minimumDiskBytes;
  if (cacheFreeBytes >= neededBytes) return [];
  const need = `${formatGib(neededBytes)} of free disk for ${cacheDir} (${formatGib(cacheFreeBytes)} are free)`;
  return [{ need, remedy: 'Free some space, or set MAYFLY_CACHE_DIR to a folder on a larger disk.' }];
}

function packageProblems(facts: HostFacts, { purpose }: SetupDemand): readonly SetupProblem[] {
  const plan = planInstall(facts, purpose);
  if (!plan) return [];
  const missing = missingFor(facts, purpose);
  const names = missing.map(({ name, minimumVersion }) =>
    minimumVersion ? `${name} ${minimumVersion} or newer` : name,
  );
  const need = `these programs: ${names.join(', ')}`;
  const { name: system, codename } = facts.distribution;
  if (!facts.hasApt) {
    const remedy = `Install them with the package manager of ${system}. Set-up installs them itself on Debian 12, Debian 13 and Ubuntu 24.04.`;
    return [{ need, remedy }];
  }
  if (missing.some((tool) => tool.minimumVersion) && releasesWithoutGoodQemu.includes(codename)) {
    const remedy = `${system} has only an older QEMU. Use Debian 12, Ubuntu 24.04 or newer, or install QEMU ${minimumQemuVersion} yourself.`;
    return [{ need, remedy }];
  }
  if (facts.isRoot) return [];
  return [
    { need, remedy: ['Run set-up as root to have them installed, or run:', ...installCommands(plan)].join('\n') },
  ];
}

function rootProblems({ isRoot }: HostFacts): readonly SetupProblem[] {
  if (isRoot) return [];
  const need = 'root (for network namespaces, and to run each virtual machine under its own user)';
  return [{ need, remedy: 'Run the same command as root, for example with sudo.' }];
}

/** The shell commands that do what set-up does as root. */
function installCommands(plan: InstallPlan): readonly string[] {
  const commands = ['apt-get update', ...aptInstallCalls(plan).map((args) => `apt-get ${args.join(' ')}`)];
  if (!plan.archiveToAdd) return commands.map((command) => `  sudo ${command}`);
  const sources = formatSources(plan.archiveToAdd, debianKeyring).trimEnd().replaceAll('\n', '\\n');
  return [
    `printf '${sources}\\n' | sudo tee ${backportsSourcesPath}`,
    ...commands.map((command) => `sudo ${command}`),
  ].map((command) => `  ${command}`);
}

function formatGib(bytes: number): string {
  return `${(bytes / gib).toFixed(1).replace(/\.0$/, '')} GiB`;
}
