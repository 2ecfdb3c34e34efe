import type { Command } from 'commander';
import { CommandExit } from '../cli-io.ts';
import { runBootstrap } from './bootstrap.ts';

/** `mayfly doctor`: what this host has and lacks. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .summary('say what this host has and lacks to run Mayfly')
    .description('Say what this host has and lacks to run Mayfly, and what to do about it. Changes nothing.')
    .option('--json', 'print the result as JSON')
    .action(({ json }: { readonly json?: true }) => {
      const { status } = runBootstrap('doctor', ...(json ? ['--json'] : []));
      if (status !== 0) throw new CommandExit(status ?? 1);
    });
}
