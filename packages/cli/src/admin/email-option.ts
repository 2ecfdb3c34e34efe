import type { Command } from 'commander';

export interface EmailOptions {
  readonly email: string;
}

/** The account that a command is about. */
export function addEmail(command: Command): Command {
  return command.requiredOption('--email <address>', 'e-mail address of the account');
}
