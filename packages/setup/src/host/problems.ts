import { formatSources } from './apt-sources.ts';
import type { HostFacts } from './facts.ts';
import { aptInstallCalls, backportsSourcesPath, type InstallPlan, planInstall } from './install-plan.ts';
import { debianKeyring, minimumQemuVersion, missingFor, type Purpose } from './required-tools.ts';

/** One reason why this host cannot do, with what the operator can do about it. */
export interface HostProblem {
  readonly need: string;
  readonly remedy: string;
}

export interface HostDemand {
  /** Whether something large is still to be built, so that disk and memory are needed for it. */
  readonly mustBuild: boolean;
  readonly cacheDir: string;
  readonly purpose: Purpose;
}

const gib = 2 ** 30;
/** A machine sold as "4 GB" shows a little less. */
const minimumTotalMemoryBytes = 3.5 * gib;
const minimumBuildMemoryBytes = 1.5 * gib;
const minimumBuildDiskBytes = 6 * gib;
const minimumDiskBytes = 1 * gib;
/** Releases that offer no QEMU new enough, not even in their backports. */
const releasesWithoutGoodQemu: readonly string[] = ['buster', 'bullseye', 'bionic', 'focal', 'jammy'];

/** Everything that stands in the way on this host; empty when set-up can go ahead. Changes nothing. */
export function findProblems(facts: HostFacts, demand: HostDemand): readonly HostProblem[] {
  if (facts.platform !== 'linux') {
    return [
      {
        need: `Linux (this is ${facts.platform})`,
        remedy: 'Run Mayfly on a Linux machine or in a Linux virtual machine.',
      },
    ];
  }
  if (facts.arch !== 'arm64' && facts.arch !== 'x64') {
    return [
      {
        need: `a 64-bit ARM or x86 processor (this is ${facts.arch})`,
        remedy: 'Run Mayfly on an arm64 or x86_64 machine.',
      },
    ];
  }
  return [
    ...memoryProblems(facts, demand),
    ...diskProblems(facts, demand),
    ...packageProblems(facts, demand),
    ...rootProblems(facts),
  ];
}

function memoryProblems({ memory }: HostFacts, { mustBuild }: HostDemand): readonly HostProblem[] {
  if (memory.totalBytes < minimumTotalMemoryBytes) {
    return [
      { need: `4 GiB of memory (this machine has ${formatGib(memory.totalBytes)})`, remedy: 'Use a larger machine.' },
    ];
  }
  if (mustBuild && memory.availableBytes < minimumBuildMemoryBytes) {
    const need = `${formatGib(minimumBuildMemoryBytes)} of free memory to build the guest image (${formatGib(memory.availableBytes)} are available)`;
    return [{ need, remedy: 'Stop other programs, then try again.' }];
  }
  return [];
}

function diskProblems({ cacheFreeBytes }: HostFacts, { mustBuild, cacheDir }: HostDemand): readonly HostProblem[] {
  const neededBytes = mustBuild ? minimumBuildDiskBytes : minimumDiskBytes;
  if (cacheFreeBytes >= neededBytes) return [];
  const need = `${formatGib(neededBytes)} of free disk for ${cacheDir} (${formatGib(cacheFreeBytes)} are free)`;
  return [{ need, remedy: 'Free some space, or set MAYFLY_CACHE_DIR to a folder on a larger disk.' }];
}

function packageProblems(facts: HostFacts, { purpose }: HostDemand): readonly HostProblem[] {
  const plan = planInstall(facts, purpose);
  if (!plan) return [];
  const missing = missingFor(facts, purpose);
  const names = missing.map(({ name, minimumVersion }) =>
    minimumVersion ? `${name} ${minimumVersion} or newer` : name,
  );
  const need = `these programs: ${names.join(', ')}`;
  if (!facts.hasApt) {
    const remedy = `Install them with the package manager of ${facts.distribution.name} (set-up can do that itself on Debian 12 or 13 and Ubuntu 24.04).`;
    return [{ need, remedy }];
  }
  if (missing.some((tool) => tool.minimumVersion) && releasesWithoutGoodQemu.includes(facts.distribution.codename)) {
    const remedy = `${facts.distribution.name} has only an older QEMU. Use Debian 12 or Ubuntu 24.04 or newer, or install QEMU ${minimumQemuVersion} yourself.`;
    return [{ need, remedy }];
  }
  return facts.isRoot
    ? []
    : [{ need, remedy: ['As root, set-up installs them itself. By hand:', ...installCommands(plan)].join('\n') }];
}

function rootProblems({ isRoot }: HostFacts): readonly HostProblem[] {
  if (isRoot) return [];
  return [
    {
      need: 'root (network namespaces, virtual machines under users of their own)',
      remedy: 'Run the same command as root, e.g. with sudo.',
    },
  ];
}

/** The shell commands that do what set-up would do as root. */
function installCommands(plan: InstallPlan): readonly string[] {
  const commands = ['apt-get update', ...aptInstallCalls(plan).map((args) => `apt-get ${args.join(' ')}`)];
  if (!plan.archiveToAdd) return commands.map((command) => `  sudo ${command}`);
  const sources = formatSources(plan.archiveToAdd, debianKeyring).trimEnd().replaceAll('\n', '\\n');
  return [
    `printf '${sources}\\n' | sudo tee ${backportsSourcesPath}`,
    ...commands.map((command) => `sudo ${command}`),
  ].map((command) => `  ${command}`);
}

/** One message that lists all problems. */
export function formatProblems(problems: readonly HostProblem[]): string {
  const items = problems.map(({ need, remedy }) => `  • Needs ${need}.\n    ${remedy.replaceAll('\n', '\n    ')}`);
  return ['Mayfly cannot be set up on this machine yet; nothing was changed.', ...items].join('\n');
}

function formatGib(bytes: number): string {
  return `${(bytes / gib).toFixed(1).replace(/\.0$/, '')} GiB`;
}
