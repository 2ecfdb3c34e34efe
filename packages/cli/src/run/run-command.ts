import { toApi } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { Interruption } from '../interruption.ts';
import { attach, explainLostConnection } from '../running/attach.ts';
import {
  addCommandOptions,
  type CommandOptions,
  commandLineOf,
  readCommandOptions,
} from '../running/command-options.ts';
import { concludeCommand, exitWith } from '../running/exit-code.ts';
import { addSandboxOptions, inNewSandbox, type SandboxOptions } from '../running/new-sandbox.ts';
import { stdinOf } from '../running/stdin.ts';
import { readSandboxOptions } from '../sandboxes/sandbox-options.ts';
import { addServiceOptions, clientOf, type ServiceOptions } from '../service/client.ts';
import { readScript, uploadScript } from './script.ts';

type Options = ServiceOptions & CommandOptions & SandboxOptions & { readonly file?: string };

const help = `
A single word is a command line for bash. Several words are a program with its arguments, which no shell interprets. With -f the words are the
arguments of the script. The options of run come before the first word, and everything after it belongs to the command; write -- before a first word
that begins with a dash.

Examples:
  mayfly run "echo hello from \\$(hostname)"
  mayfly run -- python3 -c 'print(6 * 7)'
  mayfly run -f script.py one two
  cat big.bin | mayfly run sha256sum

The exit code is the command's. 124: its timeout; 125: Mayfly failed; 130: interrupted.
`;

/** `mayfly run`: one command in a sandbox of its own. */
export function addRun(program: Command, io: CliIo): void {
  const command = program
    .command('run')
    .argument('[words...]', 'the command, or with -f the arguments of the script')
    .summary('run a command in a new sandbox')
    .description('Create a sandbox, run a command in it with live output, and delete the sandbox.')
    .option('-f, --file <script>', 'upload this script and run it')
    .passThroughOptions();
  addServiceOptions(addSandboxOptions(addCommandOptions(command)))
    .addHelpText('after', help)
    .action((words: string[], options: Options) => exitWith(() => run(words, options, io)));
}

async function run(words: readonly string[], options: Options, io: CliIo): Promise<number> {
  const mayfly = clientOf(io, options);
  const createOptions = readSandboxOptions(options);
  const commandOptions = readCommandOptions(options, io);
  const script = options.file === undefined ? undefined : await readScript(options.file);
  const given = script === undefined ? commandLineOf(words) : undefined;
  using interruption = new Interruption();
  const keep = () => options.keep === true;
  return await inNewSandbox(mayfly, createOptions, { io, interruption, keep }, async (sandbox) => {
    const signal = interruption.first;
    const line = given ?? (script && (await uploadScript(sandbox, script, words, signal))) ?? '';
    const stdin = stdinOf(io, options.interactive);
    const command = await sandbox.spawn(line, { ...commandOptions, stdin: stdin !== undefined, signal });
    const attached = attach(command, { io, stdin, interruption, quiet: options.json === true });
    const result = await attached.catch(explainLostConnection(keep() ? command.id : undefined));
    if (options.json) io.stdout.write(`${JSON.stringify(toApi(result.execution), null, 2)}\n`);
    return concludeCommand(result, interruption, io);
  });
}
