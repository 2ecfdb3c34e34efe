import { parseArgs } from 'node:util';
import { createAnnouncer, formatElapsed } from '../announce.ts';
import { planBuild } from '../artifacts.ts';
import { readEnvironment } from '../environment.ts';
import { inconclusiveExitCode, runInOuterMachine } from '../outer-machine/run.ts';
import { describeAcceleration, type PrepareOptions, prepareParts } from '../prepare.ts';
import { refuseUnfitHost } from '../requirements/problems.ts';
import { chooseEngine } from '../steps/engine.ts';
import { debianGoChoice } from '../steps/go.ts';
import { localProgram, runInherited } from './run-programs.ts';

/** The time limit of an outer machine. The limit of the short form is also the most that CI spends on an inconclusive run. */
const defaultMinutes = { short: 10, full: 90 } as const;

const usage = `Usage: npm run test:kvm -- [options] [files]
Tests Mayfly on KVM: directly on a host that has it, else in an emulated outer machine with virtualization extensions.
  --short         only a selection of the suites
  --minutes N     time limit of the outer machine, for all attempts (default ${defaultMinutes.short} with --short, else ${defaultMinutes.full})
  --here          fail on a host without KVM instead of starting an outer machine
`;

/** Runs the KVM suites and returns their exit code. */
export async function testOnKvm(args: readonly string[], signal: AbortSignal): Promise<number> {
  const options = parse(args);
  if (options === undefined) return 2;
  const announcer = createAnnouncer(process.stderr);
  const setup = { environment: readEnvironment(process.env), purpose: 'service', announcer, signal } as const;
  await refuseUnfitHost();
  const startedMs = performance.now();
  const code = options.here ? await testHere(options) : await testAnywhere(setup, options);
  const elapsed = formatElapsed(performance.now() - startedMs);
  announcer.line(verdict(code, elapsed));
  return code;
}

function verdict(code: number, elapsed: string): string {
  if (code === 0) return `✓ KVM tests passed … ${elapsed}`;
  if (code === inconclusiveExitCode) return `? KVM tests were inconclusive … ${elapsed}, exit code ${code}`;
  return `✗ KVM tests FAILED … ${elapsed}, exit code ${code}`;
}

interface KvmTestOptions {
  readonly short: boolean;
  readonly here: boolean;
  readonly limitMs: number;
  readonly files: readonly string[];
}

/** The parsed arguments; undefined, with an explanation on standard error, if they are wrong. */
function parse(args: readonly string[]): KvmTestOptions | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        short: { type: 'boolean', default: false },
        here: { type: 'boolean', default: false },
        minutes: { type: 'string' },
      },
      allowPositionals: true,
    });
    const { short, here } = values;
    const minutes = values.minutes ?? String(short ? defaultMinutes.short : defaultMinutes.full);
    if (!/^[1-9]\d{0,3}$/.test(minutes)) throw new Error(`--minutes must be a number of minutes, not "${minutes}".`);
    return { short, here, limitMs: Number(minutes) * 60_000, files: positionals };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}

/** Runs the suites on this host, which must have KVM. They do their own set-up. */
async function testHere({ short, files }: KvmTestOptions): Promise<number> {
  const env = { ...process.env, ...suiteEnvironment(short) };
  return await runInherited(localProgram('vitest'), suiteArguments(files), { env });
}

function suiteEnvironment(short: boolean): Readonly<Record<string, string>> {
  return { MAYFLY_KVM_SHORT: short ? '1' : '' };
}

function suiteArguments(files: readonly string[], leaveOut: readonly string[] = []): readonly string[] {
  return ['run', '--config', 'vitest.kvm.config.ts', ...leaveOut.flatMap((file) => ['--exclude', file]), ...files];
}

/** Runs the suites on this host if its KVM works, else in an outer machine. */
async function testAnywhere(setup: PrepareOptions, options: KvmTestOptions): Promise<number> {
  // The outer machine has no Go compiler, so what it needs must be compiled by the one that it would choose.
  const parts = await prepareParts(setup, await planBuild(process.arch, { go: debianGoChoice(process.arch) }));
  const engine = await chooseEngine(parts.artifacts, parts.context);
  if (engine.acceleration === 'kvm') return await testHere(options);
  setup.announcer.line(`${describeAcceleration(engine)}\n  The suites run in an emulated machine that has KVM.`);
  const { short, files, limitMs } = options;
  const leaveOut = leavesOutService(parts.context.arch, { short, files }) ? [serviceSuite] : [];
  if (leaveOut.length > 0) {
    setup.announcer.line(
      `  ${serviceSuite} is left out of the short form, which has no time for it on one CPU. Name it to run it.`,
    );
  }
  return await runInOuterMachine(engine, parts, {
    // Not this command with --here: every start of Node.js takes about 20 s there.
    words: [vitestScript, ...suiteArguments(files, leaveOut)],
    env: suiteEnvironment(short),
    limitMs,
    outOfTime: short ? 'inconclusive' : 'failed',
  });
}

const vitestScript = 'node_modules/vitest/vitest.mjs';

const serviceSuite = 'test/kvm/service.test.ts';

/** Whether the suite of the service is left out: on the one CPU of an x86_64 outer machine it takes as long as all others of the short form. */
export function leavesOutService(arch: string, { short, files }: Pick<KvmTestOptions, 'short' | 'files'>): boolean {
  const isNamed = files.some((file) => file.endsWith(serviceSuite) || serviceSuite.endsWith(`/${file}`));
  return arch === 'x64' && short && !isNamed;
}
