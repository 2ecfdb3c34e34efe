import type { Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addServiceCommand } from '../service/service-command.ts';
import { addNewSandboxOptions, type NewSandboxOptions, readSandboxOptions } from './sandbox-options.ts';
import { sandboxJson, showSandbox } from './show.ts';

/** `mayfly create` */
export function addCreate(program: Command, io: CliIo): void {
  addServiceCommand<[], NewSandboxOptions, Sandbox>(program, io, {
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
    options: addNewSandboxOptions,
    act: async ({ mayfly, signal }, options) => mayfly.sandboxes.create({ ...readSandboxOptions(options), signal }),
    json: sandboxJson,
    show: showSandbox,
  });
}
