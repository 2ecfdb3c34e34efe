import type { Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addServiceCommand } from '../service/service-command.ts';
import { sandboxListJson, showSandboxes } from './show.ts';

/** `mayfly ls` */
export function addList(program: Command, io: CliIo): void {
  addServiceCommand<[], { readonly all?: true }, readonly Sandbox[]>(program, io, {
    name: 'ls',
    summary: 'list your sandboxes, newest first',
    details:
      'Without a terminal it prints one line per sandbox with tabs between id, name, status, size, time of creation and time of expiry.',
    examples: ['mayfly ls', 'mayfly ls --json | jq -r ".data[].id"', 'mayfly ls | cut -f1'],
    options: (command) => command.option('--all', 'include sandboxes that were deleted or have expired'),
    act: ({ mayfly, signal }, { all = false }) => mayfly.sandboxes.list({ includeDeleted: all, signal }).all(),
    json: sandboxListJson,
    show: showSandboxes,
  });
}
