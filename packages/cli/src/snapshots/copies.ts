import type { Forks, Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, Failure } from '../cli-io.ts';
import { finishOrDelete } from '../interruption.ts';
import { parseInteger } from '../numbers.ts';
import { addLifetime, lifetimeOf } from '../sandboxes/sandbox-options.ts';
import { sandboxArgument, sandboxJson, showSandbox, showSandboxes } from '../sandboxes/show.ts';
import { addServiceCommand } from '../service/service-command.ts';
import { findSnapshot, snapshotArgument } from './find-snapshot.ts';

interface ForkOptions {
  readonly count?: string;
  readonly name?: string;
  readonly lifetime?: string;
}

/** `mayfly fork` and `mayfly rollback` */
export function addCopies(program: Command, io: CliIo): void {
  addServiceCommand<[string], ForkOptions, Forks>(program, io, {
    name: 'fork',
    arguments: [sandboxArgument],
    summary: 'copy a running sandbox and print the ids of the copies',
    details:
      'A copy has the memory, processes and files of the sandbox. If some of the copies cannot be made, the others stay and the exit code is 3.',
    examples: ['mayfly fork build --count 3'],
    interruption: { notice: 'Interrupted: deleting the copies. Press Ctrl-C again to leave them to their expiry.' },
    progress: 'Copying the sandbox …',
    options: (command) =>
      addLifetime(
        command
          .option('--count <number>', 'the number of copies (default: 1)')
          .option('--name <name>', 'a label for all copies'),
      ),
    act: async ({ signal, find }, { count, name, lifetime }, text) => {
      const options = {
        ...(count !== undefined && { count: parseInteger('--count', count) }),
        ...(name !== undefined && { name }),
        ...lifetimeOf(lifetime),
      };
      const sandbox = await find(text);
      return await finishOrDelete(sandbox.fork(options), signal, {
        made: ({ sandboxes }) => sandboxes.map((copy) => ({ id: copy.id, delete: () => copy.delete() })),
        command: 'mayfly rm',
      });
    },
    json: ({ sandboxes, errors }) => ({
      object: 'list',
      data: [
        ...sandboxes.map((sandbox) => ({ object: 'fork_result', sandbox: sandboxJson(sandbox), error: null })),
        ...errors.map((error) => ({ object: 'fork_result', sandbox: null, error })),
      ],
    }),
    show: ({ sandboxes }, screen) =>
      screen.isTerminal ? showSandboxes(sandboxes, screen) : sandboxes.map(({ id }) => `${id}\n`).join(''),
    check: ({ sandboxes, errors: [first, ...others] }) => {
      if (first === undefined) return;
      const failed = others.length + 1;
      const message = `${failed} of ${failed + sandboxes.length} copies could not be made: ${first.message}`;
      throw new Failure(message, { exitCode: 3, type: first.type, isInResult: true });
    },
  });

  addServiceCommand<[string, string], unknown, Sandbox>(program, io, {
    name: 'rollback',
    arguments: [['<sandbox>', 'its whole id or its name'], snapshotArgument],
    summary: 'put a sandbox back into the state of a snapshot of itself',
    details: 'What happened in it since then is lost, and running commands fail.',
    progress: 'Putting the sandbox back …',
    examples: ['mayfly rollback build snap_m4t7xk2q5w3vb6ynz7pahcdr'],
    act: async ({ mayfly, signal, find }, _options, text, snapshotText) => {
      const sandbox = await find(text, { exact: true });
      await sandbox.rollback(await findSnapshot(mayfly, snapshotText, signal), { signal });
      return sandbox;
    },
    json: sandboxJson,
    show: showSandbox,
  });
}
