import { join } from 'node:path';
import type { HostTools } from '@mayfly/server/machines/qemu/driver.ts';
import { detectEngine, type QemuEngine } from '@mayfly/server/machines/qemu/host/engine.ts';
import { type Announcer, formatElapsed } from './announce.ts';
import {
  ensureGuestArtifacts,
  ensureHostTools,
  type GuestArtifacts,
  type GuestPlan,
  isGuestCached,
  planGuest,
} from './artifacts.ts';
import { waitForLock } from './cache/lock.ts';
import { sweepBuilding } from './cache/sweep-building.ts';
import type { SetupEnvironment } from './environment.ts';
import type { HostFacts } from './host/facts.ts';
import { installPackages, readSignedBy } from './host/install-packages.ts';
import { planInstall } from './host/install-plan.ts';
import { probeHost } from './host/probe.ts';
import { findProblems, formatProblems } from './host/problems.ts';
import { missingFor, type Purpose } from './host/required-tools.ts';
import { SetupError } from './setup-error.ts';
import type { StepContext } from './steps/context.ts';
import { chooseDebianSources } from './steps/debian-archive.ts';
import { ensureTemplates, type Templates } from './templates/ensure-templates.ts';

export interface PrepareOptions {
  readonly environment: SetupEnvironment;
  readonly purpose: Purpose;
  readonly announcer: Announcer;
  readonly signal: AbortSignal;
}

/** What a prepared machine has. */
export interface Prepared {
  readonly artifacts: GuestArtifacts;
  readonly engine: QemuEngine;
  readonly tools: HostTools;
  readonly templates: Templates;
  readonly plan: GuestPlan;
  readonly context: StepContext;
}

const packageLockDeadlineMs = 45 * 60_000;

/** Brings everything that is missing, or says in one message why it cannot and changes nothing. */
export async function prepare(options: PrepareOptions): Promise<Prepared> {
  const startedMs = performance.now();
  const { environment, purpose, announcer, signal } = options;
  const { cacheDir } = environment;
  const [facts, plan] = await Promise.all([probeHost(cacheDir), planGuest(process.arch)]);
  const mustBuild = !(await isGuestCached(cacheDir, plan));
  const problems = findProblems(facts, { mustBuild, cacheDir, purpose });
  if (problems.length > 0) throw new SetupError(formatProblems(problems));
  if (planInstall(facts, purpose)) await installMissing(options);
  await sweepBuilding(cacheDir);
  const context = await createContext(facts, options);
  const artifacts = await ensureGuestArtifacts(context, plan);
  const tools = await ensureHostTools(context, plan);
  const engine = await detectEngine(artifacts.qemuPreloadPath);
  const templates = await ensureTemplates(engine, artifacts, cacheDir, announcer, signal);
  announcer.line(`✓ set-up complete in ${formatElapsed(performance.now() - startedMs)}`);
  return { artifacts, engine, tools, templates, plan, context };
}

/** Installs Debian packages; of two set-ups the second waits and then looks again. */
async function installMissing({ environment, purpose, announcer, signal }: PrepareOptions): Promise<void> {
  using _lock = await waitForLock(join(environment.cacheDir, '.locks', 'packages.lock'), {
    deadlineMs: packageLockDeadlineMs,
    onBusy: () => announcer.line('  Debian packages: waiting for another set-up that is installing them'),
    signal,
  });
  const install = planInstall(await probeHost(environment.cacheDir), purpose);
  if (!install) return;
  const names = [...install.packages, ...install.backportsPackages].join(', ');
  await announcer.step(`Debian packages: ${names}`, (report) => installPackages(install, report, signal));
  const missing = missingFor(await probeHost(environment.cacheDir), purpose).map(({ name }) => name);
  if (missing.length > 0)
    throw new SetupError(`After installing ${names}, still missing or too old: ${missing.join(', ')}.`);
}

async function createContext(
  facts: HostFacts,
  { environment, announcer, signal }: PrepareOptions,
): Promise<StepContext> {
  if (facts.arch !== 'arm64' && facts.arch !== 'x64') throw new SetupError(`unsupported processor ${facts.arch}`);
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
