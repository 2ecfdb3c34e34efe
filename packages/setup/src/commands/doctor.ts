import { constants, existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readConfig } from '@mayfly/server/app';
import { checkHostSupport, type HostProblem } from '@mayfly/server/machines';
import { readEnvironment } from '../environment.ts';
import { probeHost } from '../requirements/probe.ts';
import { findProblems, type SetupProblem } from '../requirements/problems.ts';
import { type HostFacts, missingFor } from '../requirements/requirements.ts';

/** One thing that was looked at. */
export interface Finding {
  /** `lacking` keeps Mayfly from running; `could be better` does not. */
  readonly state: 'ok' | 'could be better' | 'lacking';
  readonly found: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** What is known about a host, without judging it. */
export interface HostReport {
  readonly facts: HostFacts;
  /** What keeps set-up from doing its work. */
  readonly problems: readonly SetupProblem[];
  /** What machines need and no package installs. */
  readonly unsupported: readonly HostProblem[];
  readonly kvm: 'usable' | 'not permitted' | 'missing';
  readonly isPrepared: boolean;
  /** The address of the service, and whether it answers. */
  readonly service: { readonly url: string; readonly answers: boolean };
}

const gib = 2 ** 30;
const healthMs = 3_000;
const usage =
  'Usage: mayfly doctor [--json]\nSays what this host has and lacks to run Mayfly, and what to do about it. Changes nothing.\n';

/** `mayfly doctor`. Returns 1 if something keeps Mayfly from running here. */
export async function doctor(args: readonly string[]): Promise<number> {
  let json: boolean | undefined;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { json: { type: 'boolean' }, help: { type: 'boolean' } },
    });
    json = values.json;
    if (values.help) {
      process.stdout.write(usage);
      return 0;
    }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    return 2;
  }
  const findings = judge(await examine(process.env));
  process.stdout.write(json ? `${JSON.stringify({ findings }, null, 2)}\n` : formatFindings(findings));
  return findings.some(({ state }) => state === 'lacking') ? 1 : 0;
}

async function examine(env: NodeJS.ProcessEnv): Promise<HostReport> {
  const { cacheDir } = readEnvironment(env);
  const facts = await probeHost(cacheDir);
  const isPrepared = ['disks', 'template-small'].every((kind) => existsSync(join(cacheDir, kind)));
  const { host, port } = readConfig(env);
  const url = `http://${host}:${port}`;
  const health = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(healthMs) }).catch(() => undefined);
  return {
    facts,
    problems: findProblems(facts, { mustBuild: !isPrepared, cacheDir, purpose: 'service' }),
    unsupported: facts.platform === 'linux' && facts.isRoot ? await checkHostSupport() : [],
    kvm: await findKvm(),
    isPrepared,
    service: { url, answers: health?.ok === true },
  };
}

async function findKvm(): Promise<HostReport['kvm']> {
  if (!existsSync('/dev/kvm')) return 'missing';
  return await access('/dev/kvm', constants.R_OK | constants.W_OK).then(
    () => 'usable' as const,
    () => 'not permitted' as const,
  );
}

/** Judges what was found: what is lacking first, then what could be better. */
export function judge({ facts, problems, unsupported, kvm, isPrepared, service }: HostReport): readonly Finding[] {
  const { platform, arch, distribution, memory, cacheFreeBytes } = facts;
  const sizes = `${formatGib(memory.availableBytes)} of ${formatGib(memory.totalBytes)} of memory available, ${formatGib(cacheFreeBytes)} of disk free`;
  const missing = missingFor(facts, 'service').map(({ name }) => name);
  const programs: Finding[] =
    missing.length === 0
      ? [{ state: 'ok', found: 'all programs that Mayfly uses are installed' }]
      : [
          {
            state: 'could be better',
            found: `not installed: ${missing.join(', ')}`,
            remedy: 'npm start installs them.',
          },
        ];
  const findings: readonly Finding[] = [
    ...problems.map(({ need, remedy }): Finding => ({ state: 'lacking', found: `needs ${need}`, remedy })),
    ...unsupported.map(({ what, remedy }): Finding => ({ state: 'lacking', found: what, remedy })),
    // What set-up cannot install is among the problems.
    ...(problems.length > 0 && missing.length > 0 ? [] : programs),
    kvmFindings[kvm],
    isPrepared
      ? { state: 'ok', found: 'guest image and templates are built' }
      : {
          state: 'could be better',
          found: 'guest image and templates are not built yet',
          remedy: 'npm start builds them, once.',
        },
    service.answers
      ? { state: 'ok', found: `the service at ${service.url} is ready` }
      : {
          state: 'could be better',
          found: `no service is ready at ${service.url}`,
          remedy: 'Start it with npm start, or as a service with mayfly install-service.',
        },
    { state: 'ok', found: `${distribution.name}, ${platform} on ${arch}` },
    { state: 'ok', found: sizes },
  ];
  const order = ['lacking', 'could be better', 'ok'];
  return findings.toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
}

const kvmFindings: Readonly<Record<HostReport['kvm'], Finding>> = {
  usable: { state: 'ok', found: 'KVM is usable' },
  'not permitted': {
    state: 'could be better',
    found: '/dev/kvm may not be opened, so machines would be emulated, which is many times slower',
    remedy: 'Run this as root, as the service runs.',
  },
  missing: {
    state: 'could be better',
    found: 'there is no KVM, so machines are emulated, which is many times slower',
    remedy: 'Use a machine with virtualization, or turn it on in its firmware or for the virtual machine this is.',
  },
};

/** One line for each finding, its remedy below it. */
export function formatFindings(findings: readonly Finding[]): string {
  const signs = { ok: '✓', 'could be better': '!', lacking: '✗' };
  const lines = findings.flatMap(({ state, found, remedy }) => [
    `${signs[state]} ${found}`,
    ...(remedy === undefined ? [] : [`    ${remedy.replaceAll('\n', '\n    ')}`]),
  ]);
  return `${lines.join('\n')}\n`;
}

function formatGib(bytes: number): string {
  return `${(bytes / gib).toFixed(1)} GiB`;
}
