import { constants } from 'node:os';
import { createAnnouncer } from './announce.ts';
import { runBench } from './commands/bench.ts';
import { runConformance } from './commands/conformance.ts';
import { destroySandboxes } from './commands/destroy.ts';
import { printArtifacts } from './commands/prepare.ts';
import { startService } from './commands/start.ts';
import { runTests } from './commands/test.ts';
import { readEnvironment } from './environment.ts';
import { refuseUnfitHost } from './host/unfit-host.ts';
import { type Prepared, prepare } from './prepare.ts';
import { SetupError } from './setup-error.ts';

/** What follows a finished set-up; its result is the exit code. */
type Command = (prepared: Prepared, args: readonly string[]) => Promise<number>;

const commands: Readonly<Record<string, Command>> = {
  start: startService,
  test: runTests,
  bench: runBench,
  destroy: destroySandboxes,
  prepare: printArtifacts,
};

/** What needs no set-up, or does its own. */
const immediate: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  conformance: runConformance,
};

/** The commands that start machines need a host that can run them, and say so before anything is built for it. */
const machineCommands: readonly string[] = ['start', 'test', 'bench'];

const [name = '', ...args] = process.argv.slice(2);
process.exitCode = await main(name, args);

async function main(commandName: string, commandArgs: readonly string[]): Promise<number> {
  const atOnce = immediate[commandName];
  if (atOnce) return await atOnce(commandArgs);
  const command = commands[commandName];
  if (!command) {
    const names = Object.keys({ ...commands, ...immediate }).join(', ');
    process.stderr.write(`Unknown command "${commandName}". There are: ${names}.\n`);
    return 2;
  }
  const interruption = catchSignals();
  try {
    if (machineCommands.includes(commandName)) await refuseUnfitHost();
    const announcer = createAnnouncer(process.stderr);
    const prepared = await prepare({
      environment: readEnvironment(process.env),
      purpose: commandName === 'test' ? 'tests' : 'service',
      announcer,
      signal: interruption.signal,
    });
    interruption.stopCatching();
    return await command(prepared, commandArgs);
  } catch (error) {
    const caught = interruption.caught();
    if (caught) {
      process.stderr.write(`\nInterrupted by ${caught}; nothing half-made was left.\n`);
      return 128 + constants.signals[caught];
    }
    if (error instanceof SetupError || error instanceof RangeError) {
      process.stderr.write(`${error.message}\n`);
      return 1;
    }
    throw error;
  } finally {
    interruption.stopCatching();
  }
}

/** Turns SIGINT and SIGTERM into an abort for as long as set-up runs. */
function catchSignals() {
  const controller = new AbortController();
  let signal: 'SIGINT' | 'SIGTERM' | undefined;
  const onSignal = (received: 'SIGINT' | 'SIGTERM') => {
    signal ??= received;
    controller.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    caught: () => signal,
    stopCatching: () => void process.off('SIGINT', onSignal).off('SIGTERM', onSignal),
  };
}
