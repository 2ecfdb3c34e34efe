import { constants } from 'node:os';
import { supervise } from '@mayfly/server/supervisor';
import { ProgramFailed } from '@mayfly/server/system';
import { createAnnouncer, SetupError } from './announce.ts';
import { testBusy } from './commands/busy-tests.ts';
import { printCodeMetrics, runBench, runQuickCheck, runTests } from './commands/checks.ts';
import { runConformance } from './commands/conformance.ts';
import { doctor } from './commands/doctor.ts';
import { installService, uninstallService } from './commands/install-service.ts';
import { testOnKvm } from './commands/kvm-tests.ts';
import { testLong } from './commands/long-tests.ts';
import { testTouched } from './commands/touched-tests.ts';
import { uninstall } from './commands/uninstall.ts';
import { updateGuest } from './commands/update-guest.ts';
import { projectRoot, readEnvironment } from './environment.ts';
import { keepEntries, type Prepared, prepare } from './prepare.ts';
import { linkCommand } from './requirements/host-command.ts';
import { refuseUnfitHost } from './requirements/problems.ts';
import { readSettings } from './systemd/environment-file.ts';
import { refuseWithoutSystemd, systemdHost } from './systemd/systemd-host.ts';

/** A command returns its exit code. */
interface Command {
  /** Runs after set-up. */
  readonly run: (prepared: Prepared, args: readonly string[]) => Promise<number>;
  /** Whether it starts machines, so that an unfit host is refused before anything is built. */
  readonly startsMachines: boolean;
  /** Whether root may run it in a checkout that other users can change, which is then only a warning: it only measures. */
  readonly allowsUntrustedCheckout?: true;
  /** Whether it makes `mayfly` a command of this host. */
  readonly installsCommand?: true;
  /** Runs before anything is built. Throws what else keeps the command from running. */
  readonly check?: () => Promise<void>;
}

const commands: Readonly<Record<string, Command>> = {
  start: { run: startService, startsMachines: true, installsCommand: true },
  test: { run: runTests, startsMachines: true },
  bench: { run: (_, args) => runBench(args), startsMachines: true, allowsUntrustedCheckout: true },
  destroy: { run: (prepared) => supervise(prepared, 'destroy'), startsMachines: false },
  host: { run: startHost, startsMachines: true },
  'install-service': {
    run: () => installService(),
    startsMachines: true,
    installsCommand: true,
    check: checkInstallation,
  },
  prepare: { run: printArtifacts, startsMachines: false },
};

/** Commands that do their own set-up, and stop when the signal is aborted. */
const commandsWithOwnSetup: Readonly<
  Record<string, (args: readonly string[], signal: AbortSignal) => Promise<number>>
> = {
  'test:busy': testBusy,
  'test:kvm': testOnKvm,
  'test:long': testLong,
  'test:touched': testTouched,
  'update-guest': updateGuest,
};

/** Commands that need no set-up. */
const commandsWithoutSetup: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  check: runQuickCheck,
  conformance: runConformance,
  doctor,
  metrics: printCodeMetrics,
  uninstall,
  'uninstall-service': () => uninstallService(),
};

const [name = '', ...args] = process.argv.slice(2);
process.exitCode = await main(name, args);

async function main(commandName: string, commandArgs: readonly string[]): Promise<number> {
  const interruption = catchSignals();
  try {
    const withoutSetup = commandsWithoutSetup[commandName];
    if (withoutSetup) {
      interruption.stopCatching();
      return await withoutSetup(commandArgs);
    }
    const withOwnSetup = commandsWithOwnSetup[commandName];
    if (withOwnSetup) return await withOwnSetup(commandArgs, interruption.signal);
    const command = commands[commandName];
    if (!command) {
      const names = Object.keys({ ...commands, ...commandsWithOwnSetup, ...commandsWithoutSetup }).join(', ');
      process.stderr.write(`Unknown command "${commandName}". Use one of: ${names}.\n`);
      return 2;
    }
    await command.check?.();
    if (command.startsMachines) await refuseUnfitHost();
    const environment = readEnvironment(process.env);
    const announcer = createAnnouncer(process.stderr);
    const prepared = await prepare({
      environment,
      purpose: commandName === 'test' ? 'tests' : 'service',
      ...(command.allowsUntrustedCheckout && { allowsUntrustedCheckout: true }),
      announcer,
      signal: interruption.signal,
    });
    const notice = command.installsCommand && (await linkCommand(environment.binDir, projectRoot));
    if (notice) announcer.line(notice);
    interruption.stopCatching();
    return await command.run(prepared, commandArgs);
  } catch (error) {
    const caught = interruption.caught();
    if (caught) {
      process.stderr.write(`\nInterrupted by ${caught}. The next start continues where this one stopped.\n`);
      return 128 + constants.signals[caught];
    }
    if (error instanceof SetupError || error instanceof ProgramFailed) {
      process.stderr.write(`${error.message}\n`);
      return 1;
    }
    throw error;
  } finally {
    interruption.stopCatching();
  }
}

async function startService(prepared: Prepared): Promise<number> {
  using _entries = keepEntries(prepared);
  return await supervise(prepared);
}

/** The host process without a service, for systemd. */
async function startHost(prepared: Prepared): Promise<number> {
  using _entries = keepEntries(prepared);
  return await supervise(prepared, 'host');
}

/** Set-up uses the settings of an earlier installation, as the units do. */
async function checkInstallation(): Promise<void> {
  refuseWithoutSystemd();
  Object.assign(process.env, await readSettings(systemdHost.environmentFile));
}

/** Prints where the artifacts are, as JSON for scripts. */
function printArtifacts({ artifacts }: Prepared): Promise<number> {
  process.stdout.write(`${JSON.stringify(artifacts, null, 2)}\n`);
  return Promise.resolve(0);
}

/** Turns signals into an abort while set-up runs. */
function catchSignals() {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const controller = new AbortController();
  let first: (typeof signals)[number] | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    first ??= signals.find((known) => known === signal);
    controller.abort();
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    signal: controller.signal,
    caught: () => first,
    stopCatching: () => {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
