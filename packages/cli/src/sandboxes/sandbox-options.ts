import { sizeNames } from '@mayfly/contract';
import type { CreateOptions, SandboxInfo } from '@mayfly/sdk';
import { type Command, Option } from 'commander';
import { usageFailure } from '../cli-io.ts';
import { parseInteger } from '../numbers.ts';

/** What kind of sandbox is created. */
export interface NewSandboxOptions {
  readonly size?: SandboxInfo['size'];
  readonly name?: string;
  readonly lifetime?: string;
  readonly snapshot?: string;
  readonly template?: string;
}

/** Adds the options of every command that creates a sandbox. */
export function addNewSandboxOptions(command: Command): Command {
  command
    .addOption(new Option('--size <size>', 'size (default: small, or the size of the snapshot)').choices(sizeNames))
    .option('--name <name>', 'a label of your choice, by which other commands find the sandbox');
  return addLifetime(command)
    .option('--snapshot <id>', 'make it a copy of this snapshot')
    .option('--template <alias>', 'make it a copy of the template with this alias');
}

/** The options as the SDK takes them. Throws a usage failure if one is invalid. The service checks the rest. */
export function readSandboxOptions(options: NewSandboxOptions): CreateOptions {
  const { size, name, lifetime, snapshot, template } = options;
  if (snapshot !== undefined && template !== undefined) {
    throw usageFailure('--snapshot and --template exclude each other.');
  }
  return {
    ...(size !== undefined && { size }),
    ...(name !== undefined && { name }),
    ...lifetimeOf(lifetime),
    ...(snapshot !== undefined && { snapshotId: snapshot }),
    ...(template !== undefined && { template }),
  };
}

/** Adds the option that says how long new sandboxes live. */
export function addLifetime(command: Command): Command {
  return command.option('--lifetime <minutes>', 'after how many minutes it is destroyed (default: 15)');
}

/** The lifetime as the SDK takes it. */
export function lifetimeOf(text: string | undefined): { readonly lifetimeMinutes?: number } {
  return text === undefined ? {} : { lifetimeMinutes: parseInteger('--lifetime', text) };
}
