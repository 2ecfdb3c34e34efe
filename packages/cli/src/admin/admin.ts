import type { Command } from 'commander';
import type { Surroundings } from '../surroundings.ts';
import { addAccounts } from './accounts.ts';
import { addKeys } from './keys.ts';

const examples = `
Examples:
  mayfly admin accounts create --email ada@example.com --credit 25
  mayfly admin accounts list --json
  mayfly admin keys revoke --email ada@example.com --key key_3k5vq2
`;

/** `mayfly admin …`: what an operator does on the host of a running service. */
export function addAdmin(program: Command, surroundings: Surroundings): void {
  const admin = program
    .command('admin')
    .summary('administer the service that runs on this machine')
    .description('Administer the service that runs on this machine, as root, through a socket in its data folder.')
    .helpCommand(false)
    .addHelpText('after', examples);
  addAccounts(admin, surroundings);
  addKeys(admin, surroundings);
}
