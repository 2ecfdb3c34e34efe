import type { Sandbox } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { Interruption } from '../interruption.ts';
import { exitWith } from '../running/exit-code.ts';
import { addSandboxOptions, inNewSandbox, type SandboxOptions } from '../running/new-sandbox.ts';
import { readSandboxOptions } from '../sandboxes/sandbox-options.ts';
import { addServiceOptions, clientOf, type ServiceOptions } from '../service/client.ts';
import { findSandbox } from '../service/find-sandbox.ts';
import { requireTerminal } from './local-terminal.ts';
import { exitCodeOf, useTerminal } from './terminal-session.ts';

type Options = ServiceOptions & SandboxOptions & { readonly session?: string };

const help = `
Ctrl-P Ctrl-Q leaves the shell running and says how to join it again.

Examples:
  mayfly shell
  mayfly shell web

The exit code is the shell's. 125: Mayfly failed.
`;

/** `mayfly shell`: a terminal in a sandbox. */
export function addShell(program: Command, io: CliIo): void {
  const command = program
    .command('shell')
    .argument('[sandbox]', 'id, name or beginning of the id; without it, a new sandbox that is deleted at the end')
    .summary('open a shell in a sandbox')
    .description('Open a shell on a terminal in a sandbox, or in a new one that is deleted at the end.')
    .option('--session <id>', 'join this terminal instead of starting a shell')
    .allowExcessArguments(false);
  addServiceOptions(addSandboxOptions(command))
    .addHelpText('after', help)
    .action((sandbox: string | undefined, options: Options) => exitWith(() => openShell(sandbox, options, io)));
}

async function openShell(id: string | undefined, options: Options, io: CliIo): Promise<number> {
  requireTerminal(io);
  const { session } = options;
  if (id === undefined && session !== undefined) throw usageFailure('--session needs the sandbox of the terminal.');
  const mayfly = clientOf(io, options);
  const createOptions = readSandboxOptions(options);
  using interruption = new Interruption();
  let isDetached = false;
  const use = async (sandbox: Sandbox) => {
    const left = await useTerminal(sandbox, { io, interruption, session });
    isDetached = 'session' in left;
    return exitCodeOf(left, sandbox, io);
  };
  if (id !== undefined) return await use(await findSandbox(mayfly, id, { signal: interruption.first }));
  const keep = () => options.keep === true || isDetached;
  return await inNewSandbox(mayfly, createOptions, { io, interruption, keep }, use);
}
