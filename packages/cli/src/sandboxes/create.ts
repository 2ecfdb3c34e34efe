import type { Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { interruptedCreate } from '../running/new-sandbox.ts';
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
      notice: interruptedCreate,
      failure: 'Creation was interrupted.',
    },
    progress: 'Creating the sandbox …',
    options: addNewSandboxOptions,
    act: async ({ mayfly, signal }, options) => mayfly.sandboxes.create({ ...readSandboxOptions(options), signal }),
    json: sandboxJson,
    show: showSandbox,
  });
}
