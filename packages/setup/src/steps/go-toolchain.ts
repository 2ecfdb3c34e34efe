import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hashValues } from '../hash-inputs.ts';
import { findCommand } from '../host/probe.ts';
import { findVersion, isAtLeast } from '../host/version.ts';
import { tryCommand } from '../run-command.ts';
import { ensureStep, type StepContext } from './context.ts';
import { makeDebianTree } from './debian-archive.ts';

/** Lowest Go with HTTP/2 without TLS in its standard library. */
const minimumGoVersion = '1.24';

/** The Go that will be used, decided without fetching anything. */
export interface GoChoice {
  /** Changes when another compiler is used. */
  readonly identity: string;
  /** The host's own go command; undefined when Debian 13's is used. */
  readonly hostCommand: string | undefined;
}

/** A compiler ready to run. */
export interface GoToolchain {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The host's Go if it is new enough, else Debian 13's. */
export async function chooseGo(arch: string): Promise<GoChoice> {
  const command = await findCommand('go');
  const printed = command && (await tryCommand(command, ['version'], { ...process.env, GOTOOLCHAIN: 'local' }));
  const version = printed && findVersion(printed);
  if (printed && version && isAtLeast(version, minimumGoVersion)) {
    return { identity: printed.trim(), hostCommand: command };
  }
  return { identity: hashValues({ ...debianGo, arch }), hostCommand: undefined };
}

const debianGo = { recipe: '1', packages: 'golang-1.24-go,golang-1.24-src', root: 'usr/lib/go-1.24' };

/** The chosen Go, fetched when it is not the host's. Debian's is static and runs from wherever it was unpacked. */
export async function ensureGoToolchain(context: StepContext, choice: GoChoice): Promise<GoToolchain> {
  // Offline, and nothing but the compiler that was chosen.
  const shared = {
    GOTOOLCHAIN: 'local',
    GOPROXY: 'off',
    GOFLAGS: '-mod=readonly -trimpath',
    GOENV: 'off',
    GOCACHE: join(context.cacheDir, 'go-build'),
    GOPATH: join(context.cacheDir, 'go-path'),
  };
  if (choice.hostCommand) return { command: choice.hostCommand, env: shared };
  const entry = { kind: 'go-toolchain', key: choice.identity };
  const folder = await ensureStep(context, 'Go compiler (Debian 13)', entry, async (building, report) => {
    await makeDebianTree(context, building, { args: ['--variant=extract', `--include=${debianGo.packages}`], report });
    for (const name of await readdir(building)) {
      if (name !== 'usr') await rm(join(building, name), { recursive: true });
    }
  });
  const root = join(folder, debianGo.root);
  return { command: join(root, 'bin/go'), env: { ...shared, GOROOT: root } };
}
