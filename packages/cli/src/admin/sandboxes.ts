import {
  type AdminSandboxList,
  destroySandbox,
  destroySandboxesOfAccount,
  listSandboxes,
  listSandboxesOfAccount,
} from '@mayfly/contract/admin';
import type { Command } from 'commander';
import { type CliIo, usageFailure } from '../cli-io.ts';
import { table } from '../output.ts';
import { addAdminCommand } from './admin-command.ts';

interface ListOptions {
  readonly email?: string;
}

interface DestroyOptions extends ListOptions {
  readonly sandbox?: string;
}

/** `mayfly admin sandboxes …` */
export function addSandboxes(admin: Command, io: CliIo): void {
  const sandboxes = admin
    .command('sandboxes')
    .summary('list and destroy sandboxes')
    .description('List and destroy the sandboxes of any account.')
    .helpCommand(false);

  addAdminCommand<ListOptions, AdminSandboxList>(sandboxes, io, {
    name: 'list',
    summary: 'list the sandboxes that have not ended, newest first',
    options: (command) => command.option('--email <address>', 'show only the sandboxes of this account'),
    act: (client, { email }) =>
      email === undefined ? client.call(listSandboxes, {}) : client.call(listSandboxesOfAccount, { params: { email } }),
    show: showSandboxes,
  });

  addAdminCommand<DestroyOptions, AdminSandboxList>(sandboxes, io, {
    name: 'destroy',
    summary: 'destroy one sandbox, or all sandboxes of an account',
    options: (command) =>
      command
        .option('--sandbox <id>', 'id of the sandbox (sbx_…)')
        .option('--email <address>', 'destroy all sandboxes of this account'),
    act: async (client, { sandbox, email }) => {
      if (sandbox !== undefined && email === undefined) {
        return { object: 'list', data: [await client.call(destroySandbox, { params: { sandbox } })] };
      }
      if (email !== undefined && sandbox === undefined) {
        return await client.call(destroySandboxesOfAccount, { params: { email } });
      }
      throw usageFailure('Give either --sandbox or --email.');
    },
    show: (list) => (list.data.length === 0 ? 'There was no sandbox to destroy.\n' : showSandboxes(list)),
  });
}

/** Sandboxes as a table. */
export function showSandboxes({ data }: AdminSandboxList): string {
  const rows = data.map((sandbox) => [
    sandbox.id,
    sandbox.email,
    sandbox.size,
    sandbox.status,
    sandbox.created_at,
    sandbox.expires_at ?? '-',
    sandbox.name ?? '-',
  ]);
  return table(['SANDBOX', 'E-MAIL', 'SIZE', 'STATUS', 'CREATED', 'EXPIRES', 'NAME'], rows);
}
