import { toApi } from '@mayfly/sdk';
import type { Command } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { Interruption } from '../interruption.ts';
import { attach, explainLostConnection } from '../running/attach.ts';
import {
  addCommandOptions,
  type CommandOptions,
  commandLineOf,
  readCommandOptions,
} from '../running/command-options.ts';
import { concludeCommand, exitWith } from '../running/exit-code.ts';
import { stdinOf } from '../running/stdin.ts';
import { addServiceOptions, clientOf, type ServiceOptions } from '../service/client.ts';
import { findSandbox } from '../service/find-sandbox.ts';
import { requireTerminal } from '../shell/local-terminal.ts';
import { exitCodeOf, useTerminal } from '../shell/terminal-session.ts';
import { prepareCommand } from './begin-command.ts';

type Options = ServiceOptions & CommandOptions & { readonly detach?: true; readonly tty?: true };

const help = `
A single word is a command line for bash. Several words are a program with its arguments, which no shell interprets. The options of exec come before the
first word, and everything after it belongs to the command; write -- before a first word that begins with a dash.

Examples:
  mayfly exec web "npm test 2>&1 | tail"
  mayfly exec web git log --oneline
  mayfly exec web -t vim notes.txt
  mayfly exec web -d python3 -m http.server 8000

The exit code is the command's. 124: its timeout; 125: Mayfly failed; 130: interrupted.
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
  stopAtFirstWord(command);
  addServiceOptions(addCommandOptions(command))
    .addHelpText('after', help)
    .action((sandbox: string, words: string[], options: Options) =>
      exitWith(() => execute(sandbox, words, options, io)),
    );
}

/** Reads options before and after the sandbox, but none after the first word of the command. */
function stopAtFirstWord(command: Command): void {
  const parse = command.passThroughOptions().parseOptions.bind(command);
  command.parseOptions = (args) => {
    const { operands, unknown } = parse(args);
    const [sandbox, ...rest] = operands;
    if (sandbox === undefined) return { operands, unknown };
    const after = parse(rest);
    return { operands: [sandbox, ...after.operands], unknown: after.unknown };
  };
}

async function execute(id: string, words: readonly string[], options: Options, io: CliIo): Promise<number> {
  const mayfly = clientOf(io, options);
  const commandOptions = readCommandOptions(options, io);
  const line = commandLineOf(words);
  if (options.tty) {
    requireTerminal(io);
    if (options.detach || options.json) throw usageFailure('-t excludes --detach and --json.');
    if (options.timeout !== undefined) throw usageFailure('-t excludes --timeout.');
  }
  using interruption = new Interruption();
  const signal = interruption.first;
  const sandbox = await findSandbox(mayfly, id, { signal });
  if (options.detach) {
    const command = await sandbox.spawn(line, { ...commandOptions, stdin: false, signal });
    const text = options.json ? JSON.stringify(toApi(await command.info({ signal })), null, 2) : command.id;
    io.stdout.write(`${text}\n`);
    return 0;
  }
  if (options.tty) {
    const begin = await prepareCommand(sandbox, line, { ...commandOptions, signal });
    return exitCodeOf(await useTerminal(sandbox, { io, interruption, begin }), sandbox, io);
  }
  const stdin = stdinOf(io, options.interactive);
  const command = await sandbox.spawn(line, { ...commandOptions, stdin: stdin !== undefined, signal });
  const attached = attach(command, { io, stdin, interruption, quiet: options.json === true });
  const result = await attached.catch(explainLostConnection(command.id));
  if (options.json) io.stdout.write(`${JSON.stringify(toApi(result.execution), null, 2)}\n`);
  return concludeCommand(result, interruption, io);
}
