import type { ReportDetail } from '../announce.ts';
import type { AptArchive, Distribution } from '../host/facts.ts';
import { debianKeyring } from '../host/required-tools.ts';
import { runCommand } from '../run-command.ts';
import type { StepContext } from './context.ts';

/** The release that kernel, image and toolchain come from. */
const release = 'trixie';

export interface ArchiveChoice {
  /** MAYFLY_DEBIAN_MIRROR. */
  readonly mirror: string | undefined;
  readonly distribution: Distribution;
  readonly archives: readonly AptArchive[];
  /** The key that the host's configuration names for its archive, if any. */
  readonly signedBy: string | undefined;
}

/** The sources.list for Debian 13: the given mirror, else the archives a Debian host itself uses, else none. */
export function chooseDebianSources(choice: ArchiveChoice): readonly string[] {
  const options = `[signed-by=${choice.signedBy?.startsWith('/') ? choice.signedBy : debianKeyring}]`;
  if (choice.mirror) return [`deb ${options} ${choice.mirror} ${release} main`];
  const { id, codename } = choice.distribution;
  const main = id === 'debian' && findUri(choice.archives, codename);
  if (!main) return [];
  const security = findUri(choice.archives, `${codename}-security`);
  return [
    `deb ${options} ${main} ${release} main`,
    `deb ${options} ${main} ${release}-updates main`,
    ...(security ? [`deb ${options} ${security} ${release}-security main`] : []),
  ];
}

function findUri(archives: readonly AptArchive[], suite: string): string | undefined {
  return archives.find((archive) => archive.suite === suite && /^https?:/.test(archive.uri))?.uri;
}

/**
 * Runs a command so that none of its mounts is ever seen outside and none of its processes outlives this one:
 * a mount namespace and a process namespace of its own, whose first process dies when we do, however we do.
 */
const isolation = [
  '--pdeathsig',
  'KILL',
  'unshare',
  '--mount',
  '--propagation',
  'private',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
];

/** Makes a Debian 13 tree in the folder. */
export async function makeDebianTree(
  context: StepContext,
  folder: string,
  options: { readonly args: readonly string[]; readonly env?: NodeJS.ProcessEnv; readonly report: ReportDetail },
): Promise<void> {
  const args = ['--mode=root', '--format=directory', '--aptopt=Acquire::Retries "5"', ...options.args, release, folder];
  const sources = context.debianSources;
  await runCommand('setpriv', [...isolation, 'mmdebstrap', ...args, ...(sources.length > 0 ? ['-'] : [])], {
    env: { ...process.env, ...options.env, LC_ALL: 'C.UTF-8' },
    input: sources.map((line) => `${line}\n`).join(''),
    onLine: (line) => options.report(line.replace(/^I: /, '')),
    signal: context.signal,
  });
}
