import { sizeNames } from '@mayfly/contract';
import type { Sandbox, SandboxInfo } from '@mayfly/sdk';
import { type Command, Option } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { parseInteger } from '../numbers.ts';
import { addServiceCommand } from '../service/service-command.ts';
import { sandboxJson, showSandbox } from './show.ts';

interface CreateOptions {
  readonly size?: SandboxInfo['size'];
  readonly name?: string;
  readonly lifetime?: string;
  readonly snapshot?: string;
  readonly template?: string;
}

/** `mayfly create` */
export function addCreate(program: Command, io: CliIo): void {
  addServiceCommand<[], CreateOptions, Sandbox>(program, io, {
    name: 'create',
    summary: 'create a sandbox and print its id',
    details: 'It is ready when the command ends.',
    examples: [
      'mayfly create --name build --lifetime 60',
      'mayfly create --template web-app',
      'ID=$(mayfly create --size large)',
    ],
    interruption: {
      notice: 'Interrupted: deleting the sandbox. Press Ctrl-C again to leave it to its expiry.',
      failure: 'Creation was interrupted.',
    },
    progress: 'Creating the sandbox …',
    options: (command) =>
      addLifetime(
        command
          .addOption(new Option('--size <size>', 'small unless given, or that of the snapshot').choices(sizeNames))
          .option('--name <name>', 'a label of your choice, by which other commands find the sandbox'),
      )
        .option('--snapshot <id>', 'make it a copy of this snapshot')
        .option('--template <alias>', 'make it a copy of the template with this alias'),
    act: async ({ mayfly, signal }, { size, name, lifetime, snapshot, template }) => {
      if (snapshot !== undefined && template !== undefined) {
        throw usageFailure('--snapshot and --template exclude each other.');
      }
      return await mayfly.sandboxes.create({
        signal,
        ...(size !== undefined && { size }),
        ...(name !== undefined && { name }),
        ...lifetimeOf(lifetime),
        ...(snapshot !== undefined && { snapshotId: snapshot }),
        ...(template !== undefined && { template }),
      });
    },
    json: sandboxJson,
    show: showSandbox,
  });
}

/** Adds the option that says how long new sandboxes live. */
export function addLifetime(command: Command): Command {
  return command.option('--lifetime <minutes>', 'after how many minutes it is destroyed (default: 15)');
}

/** The lifetime as the SDK takes it. */
export function lifetimeOf(text: string | undefined): { readonly lifetimeMinutes?: number } {
  return text === undefined ? {} : { lifetimeMinutes: parseInteger('--lifetime', text) };
}
