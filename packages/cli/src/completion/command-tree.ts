import type { Command } from 'commander';

/** What can be typed after one command. */
export interface CommandNode {
  /** The names of the commands that lead here, each after a space. Empty for the program itself. */
  readonly path: string;
  readonly commands: readonly Word[];
  /** The values that its arguments can have. None if any value is possible. */
  readonly values: readonly Word[];
  readonly options: readonly OptionWord[];
}

/** Something to type, with what it means. */
export interface Word {
  readonly text: string;
  readonly meaning: string;
}

export interface OptionWord extends Word {
  /** Whether a value follows. */
  readonly takesValue: boolean;
  /** The values that are possible. None if any value is. */
  readonly choices: readonly string[];
}

/** Lists the program and all of its commands, parents first. */
export function commandNodes(command: Command, path = ''): CommandNode[] {
  const commands = command.commands.map((child) => ({ text: child.name(), meaning: child.summary() }));
  const values = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((text) => ({ text, meaning: description })),
  );
  const options = command.options.map(({ long, short, description, required, optional, argChoices }) => ({
    text: long ?? short ?? '',
    meaning: description,
    takesValue: required || optional,
    choices: argChoices ?? [],
  }));
  const help = { text: '--help', meaning: 'print help', takesValue: false, choices: [] };
  const below = command.commands.flatMap((child) => commandNodes(child, `${path} ${child.name()}`));
  return [{ path, commands, values, options: [...options, help] }, ...below];
}
