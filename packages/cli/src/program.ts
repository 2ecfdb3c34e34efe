import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addAdmin } from './admin/admin.ts';
import { printable } from './output/printable.ts';
import type { Surroundings } from './surroundings.ts';

/** The whole command line of `mayfly`. */
export function buildProgram(surroundings: Surroundings): Command {
  const program = new Command('mayfly')
    .description('Disposable sandboxes on your own machine.')
    .version(readVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void surroundings.stdout.write(text),
      writeErr: (text) => void surroundings.stderr.write(text),
      outputError: (text, write) => write(`${printable(text.trim().replaceAll('\n', ' '))}\n`),
    });
  addAdmin(program, surroundings);
  return program;
}

function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
