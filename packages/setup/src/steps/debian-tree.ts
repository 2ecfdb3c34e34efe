import { runProgram } from '@mayfly/server/system';
import type { ReportDetail } from '../announce.ts';
import { type AptArchive, type Distribution, debianKeyring } from '../requirements/requirements.ts';
import type { StepContext } from './step.ts';

/** The release of the guest kernel, the image and the Go compiler. */
const release = 'trixie';

export interface ArchiveChoice {
  /** MAYFLY_DEBIAN_MIRROR. */
  readonly mirror: string | undefined;
  readonly distribution: Distribution;
  readonly archives: readonly AptArchive[];
  /** The key that the host's configuration names for its archive, if any. */
  readonly signedBy: string | undefined;
}

/** The sources.list for Debian 13: the given mirror, else the archives that a Debian host itself uses, else none. */
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
 * Arguments of setpriv that run a command in its own mount and process namespaces: its mounts are not visible outside, and all of its
 * processes are killed when set-up ends, even if set-up itself was killed.
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

/** Unpacks a Debian 13 system into the folder. */
export async function makeDebianTree(
  context: StepContext,
  folder: string,
  options: { readonly args: readonly string[]; readonly env?: NodeJS.ProcessEnv; readonly report: ReportDetail },
): Promise<void> {
  const architecture = `--architectures=${context.arch === 'x64' ? 'amd64' : 'arm64'}`;
  const shared = ['--mode=root', '--format=directory', architecture, '--aptopt=Acquire::Retries "5"'];
  const args = [...shared, ...options.args, release, folder];
  const sources = context.debianSources;
  await runProgram('setpriv', [...isolation, 'mmdebstrap', ...args, ...(sources.length > 0 ? ['-'] : [])], {
    env: { ...process.env, ...options.env, LC_ALL: 'C.UTF-8' },
    input: sources.map((line) => `${line}\n`).join(''),
    onLine: (line) => options.report(line.replace(/^I: /, '')),
    signal: context.signal,
  });
}
