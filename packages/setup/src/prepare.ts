import { dirname, join } from 'node:path';
import { describeUntrusted, trustedIds } from '@mayfly/server/app';
import { findLegacyDrop, type HostTools, type QemuEngine } from '@mayfly/server/machines';
import { type Announcer, formatElapsed, SetupError } from './announce.ts';
import {
  type BuildPlan,
  ensureGuestArtifacts,
  ensureHostTools,
  type GuestArtifacts,
  isGuestCached,
  planBuild,
} from './artifacts.ts';
import { markUsed, removeAbandonedStaging } from './cache/entry.ts';
import { builtAtMs, describeAge, readGuestUpdate } from './cache/guest-update.ts';
import { waitForLock } from './cache/lock.ts';
import { markUsedEveryMs, pruneCache } from './cache/prune.ts';
import { projectRoot, type SetupEnvironment } from './environment.ts';
import { installPackages, readSignedBy } from './requirements/install-packages.ts';
import { planInstall } from './requirements/install-plan.ts';
import { probeHost } from './requirements/probe.ts';
import { findProblems, formatProblems } from './requirements/problems.ts';
import { type HostFacts, missingFor, type Purpose } from './requirements/requirements.ts';
import { ensureServiceUser } from './requirements/service-user.ts';
import { ensureCompiledCode } from './steps/compiled-code.ts';
import { ensureDashboard } from './steps/dashboard.ts';
import { chooseDebianSources } from './steps/debian-tree.ts';
import { chooseEngine } from './steps/engine.ts';
import type { StepContext } from './steps/step.ts';
import { ensureTemplates, type Templates } from './templates/ensure-templates.ts';

export interface PrepareOptions {
  readonly environment: SetupEnvironment;
  readonly purpose: Purpose;
  readonly announcer: Announcer;
  readonly signal: AbortSignal;
  /** The update of the guest to build; by default the last one that was finished. */
  readonly guestUpdate?: string;
  /** The folder whose code root runs; by default this checkout. */
  readonly checkout?: string;
  /** Whether root may run a checkout that other users can change, which is then only a warning. By default only for tests. */
  readonly allowsUntrustedCheckout?: boolean;
}

/** What set-up builds without starting a machine. */
export interface PreparedParts {
  readonly artifacts: GuestArtifacts;
  readonly tools: HostTools;
  readonly plan: BuildPlan;
  readonly context: StepContext;
  /** The user that the service runs as. */
  readonly serviceUid: number;
}

/** What a finished set-up provides. */
export interface Prepared extends PreparedParts {
  readonly engine: QemuEngine;
  readonly templates: Templates;
  /** Where Node.js finds the code of the service and of the host process compiled. */
  readonly compiledCodeDir: string;
  /** When the older of the guest's kernel and image was built. */
  readonly guestBuiltAtMs: number;
}

const packageLockDeadlineMs = 45 * 60_000;

/** Installs and builds everything that is missing. If the host is not suitable, throws one error that names every problem and changes nothing. */
export async function prepare(options: PrepareOptions): Promise<Prepared> {
  const startedMs = performance.now();
  const { environment, announcer } = options;
  refuseUntrustedCheckout(options);
  const guestUpdate = options.guestUpdate ?? (await readGuestUpdate(environment.cacheDir));
  const plan = await planBuild(process.arch, { guestUpdate });
  const parts = await prepareParts(options, plan);
  await ensureDashboard(parts.context);
  const compiledCodeDir = await ensureCompiledCode(parts.context, parts.serviceUid);
  await warnOfLegacyFirewall(announcer);
  const engine = await chooseEngine(parts.artifacts, parts.context);
  announcer.line(describeAcceleration(engine));
  const templates = await ensureTemplates(engine, parts.artifacts, parts.context);
  await pruneOldEntries(environment.cacheDir, announcer);
  const guestBuiltAtMs = await builtAtMs(environment.cacheDir, [plan.kernel, plan.disks]);
  const ageWarning = describeAge(guestBuiltAtMs, Date.now());
  if (ageWarning !== undefined) announcer.line(ageWarning);
  announcer.line(`✓ set-up complete in ${formatElapsed(performance.now() - startedMs)}`);
  return { ...parts, engine, templates, compiledCodeDir, guestBuiltAtMs };
}

/** Root runs what it finds in the cache. */
function refuseUntrustedCache(cacheDir: string): void {
  const problem = describeUntrusted(cacheDir, trustedIds(process.env));
  if (problem === undefined) return;
  throw new SetupError(
    `The cache ${cacheDir} is not safe from other users: ${problem}. Make it root's and close it to others (chown root:root, chmod go-w), or set MAYFLY_CACHE_DIR to another folder.`,
  );
}

/** A user who can change the checkout could also remove this check: it protects operators from running such a checkout by mistake. */
function refuseUntrustedCheckout({
  checkout = projectRoot,
  purpose,
  allowsUntrustedCheckout = purpose === 'tests',
  announcer,
}: PrepareOptions): void {
  const problem = describeUntrusted(checkout, trustedIds(process.env));
  if (problem === undefined || process.getuid?.() !== 0) return;
  const text = `The checkout ${checkout} is not safe from other users: ${problem}. Root runs this code, so they could become root.`;
  if (!allowsUntrustedCheckout) {
    throw new SetupError(
      `${text} Make it and the folders above it root's and close them to others (chown -R root:root ${checkout}; chmod -R go-w ${checkout}), or let the user it belongs to run this with sudo.`,
    );
  }
  announcer.line(`⚠ ${text}`);
}

/** Rules of other tools that nft lists are found by the host process, which warns of them too. */
async function warnOfLegacyFirewall(announcer: Announcer): Promise<void> {
  const problem = await findLegacyDrop();
  if (problem !== undefined) announcer.line(`⚠ ${problem.what}. To allow them: ${problem.remedy}`);
}

/** The part of set-up before the templates: installs packages, and builds what the plan contains unless it is cached. */
export async function prepareParts(options: PrepareOptions, plan: BuildPlan): Promise<PreparedParts> {
  const { environment, purpose } = options;
  const { cacheDir } = environment;
  refuseUntrustedCache(cacheDir);
  const facts = await probeHost(cacheDir);
  const mustBuild = !(await isGuestCached(cacheDir, plan));
  const problems = findProblems(facts, { mustBuild, cacheDir, purpose });
  if (problems.length > 0) throw new SetupError(formatProblems(problems));
  if (planInstall(facts, purpose)) await installMissing(options);
  const { uid: serviceUid } = await ensureServiceUser(options.announcer);
  await removeAbandonedStaging(cacheDir);
  const context = await createContext(facts, options);
  const artifacts = await ensureGuestArtifacts(context, plan);
  const tools = await ensureHostTools(context, plan);
  return { artifacts, tools, plan, context, serviceUid };
}

/** One line that says what machines run on. */
export function describeAcceleration({
  acceleration,
  kvmWarning,
}: Pick<QemuEngine, 'acceleration' | 'kvmWarning'>): string {
  if (acceleration === 'kvm') return "✓ KVM works: machines run on the host's processor";
  if (kvmWarning !== undefined) return `! Machines are emulated, which is many times slower: ${kvmWarning}`;
  return '  No KVM on this host (there is no /dev/kvm): machines are emulated, with the same behaviour but slower';
}

/** Marks the cache entries of a running service as used from time to time, so that the set-up of another checkout does not prune them. */
export function keepEntries({ artifacts, tools, templates, compiledCodeDir }: Prepared): Disposable {
  const { kernelPath, initrdPath, diskPaths } = artifacts;
  const files = [kernelPath, initrdPath, diskPaths.small, tools.jailPath, tools.netPath, tools.ramPath];
  const templateFolders = Object.values(templates).map(({ folder }) => folder);
  const folders = [...files.map((path) => dirname(path)), ...templateFolders, compiledCodeDir];
  const timer = setInterval(() => void Promise.all(folders.map(markUsed)), markUsedEveryMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Installs Debian packages. If two set-ups run at once, the second waits and then checks again. */
async function installMissing({ environment, purpose, announcer, signal }: PrepareOptions): Promise<void> {
  const { cacheDir } = environment;
  using _lock = await waitForLock(join(cacheDir, '.locks', 'packages.lock'), {
    deadlineMs: packageLockDeadlineMs,
    onBusy: () => announcer.line('  Debian packages: waiting for another set-up that is installing them'),
    signal,
  });
  const install = planInstall(await probeHost(cacheDir), purpose);
  if (!install) return;
  const names = [...install.packages, ...install.backportsPackages].join(', ');
  await announcer.step(`Debian packages: ${names}`, (report) => installPackages(install, cacheDir, report, signal));
  const missing = missingFor(await probeHost(cacheDir), purpose).map(({ name }) => name);
  if (missing.length > 0) {
    throw new SetupError(
      `apt-get installed ${names}, but these programs are still missing or too old: ${missing.join(', ')}. Install them yourself, then try again.`,
    );
  }
}

/** A cache that cannot be pruned is no reason to fail a set-up that is complete. */
async function pruneOldEntries(cacheDir: string, announcer: Announcer): Promise<void> {
  try {
    const removed = await pruneCache(cacheDir);
    if (removed.length > 0) {
      const names = removed.map(({ kind, key }) => `${kind}/${key}`).join(', ');
      announcer.line(`✓ removed from the cache, unused for 14 days: ${names}`);
    }
  } catch (error) {
    announcer.line(
      `  Old cache entries could not be removed: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

async function createContext(
  facts: HostFacts,
  { environment, announcer, signal }: PrepareOptions,
): Promise<StepContext> {
  if (facts.arch !== 'arm64' && facts.arch !== 'x64') throw new Error(`unsupported processor ${facts.arch}`);
  const { distribution, archives } = facts;
  const ownArchive = archives.find((archive) => archive.suite === distribution.codename);
  const debianSources = chooseDebianSources({
    mirror: environment.debianMirror,
    distribution,
    archives,
    signedBy: ownArchive && distribution.id === 'debian' ? await readSignedBy(ownArchive.uri) : undefined,
  });
  return { cacheDir: environment.cacheDir, arch: facts.arch, announcer, debianSources, signal };
}
