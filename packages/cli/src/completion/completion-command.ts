import { Argument, type Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { commandNodes } from './command-tree.ts';
import { type Shell, scripts, shells } from './scripts.ts';

const installation = `
To install it, for bash (with the package bash-completion), zsh or fish:
  mayfly completion bash > ~/.local/share/bash-completion/completions/mayfly
  mayfly completion zsh > "\${fpath[1]}/_mayfly"
  mayfly completion fish > ~/.config/fish/completions/mayfly.fish
`;

/** `mayfly completion` */
export function addCompletion(program: Command, { stdout }: CliIo): void {
  program
    .command('completion')
    .summary('print a script that completes commands and options in your shell')
    .description('Print a script that completes commands and options in your shell.')
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .addHelpText('after', installation)
    .action((shell: Shell) => void stdout.write(scripts[shell](commandNodes(program))));
}
