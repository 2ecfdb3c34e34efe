import {
  type AdminKey,
  type AdminKeyList,
  type CreatedKey,
  createKey,
  listKeys,
  revokeKey,
} from '@mayfly/contract/admin/keys.ts';
import type { Command } from 'commander';
import { pairs, table } from '../output/table.ts';
import type { Surroundings } from '../surroundings.ts';
import { addAdminCommand } from './admin-command.ts';
import { addEmail, type EmailOptions } from './email-option.ts';

/** `mayfly admin keys …` */
export function addKeys(admin: Command, surroundings: Surroundings): void {
  const keys = admin
    .command('keys')
    .summary('create, list and revoke API keys')
    .description('Create, list and revoke the API keys of an account.')
    .helpCommand(false);

  addAdminCommand<EmailOptions, CreatedKey>(keys, surroundings, {
    name: 'create',
    summary: 'create one more API key; prints it, once',
    options: addEmail,
    act: (client, { email }) => client.call(createKey, { params: { email } }),
    show: ({ id, email, api_key }) =>
      `${pairs({ Key: id, 'E-mail': email, 'API key': api_key })}The key is shown only this once: keep it.\n`,
  });

  addAdminCommand<EmailOptions, AdminKeyList>(keys, surroundings, {
    name: 'list',
    summary: 'list the API keys of an account, oldest first',
    options: addEmail,
    act: (client, { email }) => client.call(listKeys, { params: { email } }),
    show: showList,
  });

  addAdminCommand<EmailOptions & { readonly key: string }, AdminKey>(keys, surroundings, {
    name: 'revoke',
    summary: 'end an API key at once and for ever',
    options: (command) =>
      addEmail(command).requiredOption('--key <id>', 'id of the key (key_…), or enough of its beginning'),
    act: (client, { email, key }) => client.call(revokeKey, { params: { email, key } }),
    show: ({ id, email }) => `${id} of ${email} is revoked.\n`,
  });
}

function showList({ data }: AdminKeyList): string {
  const rows = data.map((key) => [key.id, `${key.prefix}…`, key.status, key.created_at, key.revoked_at ?? '-']);
  return table(['KEY', 'BEGINS WITH', 'STATUS', 'CREATED', 'REVOKED'], rows);
}
