import { ConnectionError, toApi } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, Failure, usageFailure } from '../cli-io.ts';
import { attach } from '../running/attach.ts';
import {
  addCommandOptions,
  type CommandOptions,
  commandLineOf,
  readCommandOptions,
} from '../running/command-options.ts';
import { concludeCommand, exitWith } from '../running/exit-code.ts';
import { Interruption } from '../running/interruption.ts';
import { stdinOf } from '../running/stdin.ts';
import { addServiceOptions, clientOf, type ServiceOptions } from '../service/client.ts';
import { findSandbox } from '../service/find-sandbox.ts';
import { prepareCommand } from '../shell/begin-command.ts';
import { requireTerminal } from '../shell/local-terminal.ts';
import { exitCodeOf, useTerminal } from '../shell/terminal-session.ts';

type Options = ServiceOptions & CommandOptions & { readonly detach?: true; readonly tty?: true };

const help = `
A single word is a command line for bash. Several words are a program with its arguments, which no shell interprets; write -- before words that begin
with a dash.

Examples:
  mayfly exec web "npm test 2>&1 | tail"
  mayfly exec web -- git log --oneline
  mayfly exec web -t -- vim notes.txt
  mayfly exec web -d -- python3 -m http.server 8000

The exit code is that of the command. 124: its timeout; 125: Mayfly failed; 130: interrupted.
`;

/** `mayfly exec`: a command in a sandbox that exists. */
export function addExec(program: Command, io: CliIo): void {
  const command = program
    .command('exec')
    .argument('<sandbox>', 'id, name or beginning of the id')
    .argument('<words...>', 'the command')
    .summary('run a command in a sandbox')
    .description('Run a command in a sandbox that exists, with live output.')
    .option('-t, --tty', 'run it on a terminal; Ctrl-P Ctrl-Q leaves it running')
    .option('-d, --detach', 'leave it running in the background and print the id of its execution');
  addServiceOptions(addCommandOptions(command))
    .addHelpText('after', help)
    .action((sandbox: string, words: string[], options: Options) =>
      exitWith(() => execute(sandbox, words, options, io)),
    );
}

async function execute(id: string, words: readonly string[], options: Options, io: CliIo): Promise<number> {
  const mayfly = clientOf(io, options);
  const commandOptions = readCommandOptions(options);
  const line = commandLineOf(words);
  if (options.tty) {
    requireTerminal(io);
    if (options.detach || options.json) throw usageFailure('-t excludes --detach and --json.');
    if (options.timeout !== undefined) throw usageFailure('-t excludes --timeout.');
  }
  const sandbox = await findSandbox(mayfly, id);
  if (options.detach) {
    const command = await sandbox.spawn(line, { ...commandOptions, stdin: false });
    const text = options.json ? JSON.stringify(toApi(await command.info()), null, 2) : command.id;
    io.stdout.write(`${text}\n`);
    return 0;
  }
  using interruption = new Interruption();
  if (options.tty) {
    const begin = await prepareCommand(sandbox, line, { ...commandOptions, signal: interruption.first });
    return exitCodeOf(await useTerminal(sandbox, { io, interruption, begin }), sandbox, io);
  }
  const stdin = stdinOf(io, options.interactive);
  const start = { ...commandOptions, stdin: stdin !== undefined, signal: interruption.first };
  const command = await sandbox.spawn(line, start);
  const result = await attach(command, { io, stdin, interruption, quiet: options.json === true }).catch(
    (error: unknown) => {
      if (!(error instanceof ConnectionError)) throw error;
      const advice = `The command may be running. Read its output with: mayfly logs -f ${command.id}`;
      throw new Failure(`The connection to the service was lost. ${advice}`, { cause: error });
    },
  );
  if (options.json) io.stdout.write(`${JSON.stringify(toApi(result.execution), null, 2)}\n`);
  return concludeCommand(result, interruption, io);
}
