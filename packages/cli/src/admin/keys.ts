import {
  type AdminKey,
  type AdminKeyList,
  type CreatedKey,
  createKey,
  listKeys,
  revokeKey,
} from '@mayfly/contract/admin';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { pairs, table } from '../output.ts';
import { addAdminCommand, addEmail, type EmailOptions } from './admin-command.ts';

/** `mayfly admin keys …` */
export function addKeys(admin: Command, io: CliIo): void {
  const keys = admin
    .command('keys')
    .summary('create, list and revoke API keys')
    .description('Create, list and revoke the API keys of an account.')
    .helpCommand(false);

  addAdminCommand<EmailOptions & { readonly name?: string }, CreatedKey>(keys, io, {
    name: 'create',
    summary: 'create an API key and print it',
    options: (command) => addEmail(command).option('--name <text>', 'what to call the key'),
    act: (client, { email, name }) =>
      client.call(createKey, { params: { email }, body: { ...(name !== undefined && { name }) } }),
    show: ({ id, email, api_key }) =>
      `${pairs({ Key: id, 'E-mail': email, 'API key': api_key })}Save the API key now. It is not shown again.\n`,
  });

  addAdminCommand<EmailOptions, AdminKeyList>(keys, io, {
    name: 'list',
    summary: 'list the API keys of an account, oldest first',
    options: addEmail,
    act: (client, { email }) => client.call(listKeys, { params: { email } }),
    show: showList,
  });

  addAdminCommand<EmailOptions & { readonly key: string }, AdminKey>(keys, io, {
    name: 'revoke',
    summary: 'revoke an API key, with immediate effect',
    options: (command) =>
      addEmail(command).requiredOption('--key <id>', 'id of the key (key_…), or the beginning of it if unambiguous'),
    act: (client, { email, key }) => client.call(revokeKey, { params: { email, key } }),
    show: ({ id, email }) => `Key ${id} of ${email} is revoked.\n`,
  });
}

function showList({ data }: AdminKeyList): string {
  const rows = data.map((key) => [
    key.id,
    `${key.prefix}…`,
    key.name ?? '-',
    key.status,
    key.created_at,
    key.last_used_at ?? '-',
    key.revoked_at ?? '-',
  ]);
  return table(['KEY', 'PREFIX', 'NAME', 'STATUS', 'CREATED', 'LAST USED', 'REVOKED'], rows);
}
