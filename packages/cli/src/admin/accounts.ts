import {
  type AdminAccount,
  type AdminAccountList,
  addCredit,
  type CreatedAccount,
  createAccount,
  getAccount,
  listAccounts,
  resumeAccount,
  suspendAccount,
} from '@mayfly/contract/admin/accounts.ts';
import type { Command } from 'commander';
import { showUsd } from '../output/money.ts';
import { pairs, table } from '../output/table.ts';
import type { Surroundings } from '../surroundings.ts';
import { addAdminCommand } from './admin-command.ts';
import { addEmail, type EmailOptions } from './email-option.ts';
import { addLimits } from './limits.ts';

/** `mayfly admin accounts …` */
export function addAccounts(admin: Command, surroundings: Surroundings): void {
  const accounts = admin
    .command('accounts')
    .summary('create, list, suspend, resume, credit and limit accounts')
    .description('Create, list, suspend, resume, credit and limit accounts.')
    .helpCommand(false);

  addAdminCommand<EmailOptions & { readonly credit?: string }, CreatedAccount>(accounts, surroundings, {
    name: 'create',
    summary: 'create an account; prints its first API key, once',
    options: (command) => addEmail(command).option('--credit <usd>', 'what it starts with, in USD (default: 0)'),
    act: (client, { email, credit }) =>
      client.call(createAccount, { body: { email, ...(credit !== undefined && { credit_usd: credit }) } }),
    show: showCreated,
  });

  addAdminCommand<Partial<EmailOptions>, AdminAccountList>(accounts, surroundings, {
    name: 'list',
    summary: 'list the accounts, oldest first',
    options: (command) => command.option('--email <address>', 'this one only'),
    act: async (client, { email }) => {
      if (email === undefined) return await client.call(listAccounts, {});
      return { object: 'list', data: [await client.call(getAccount, { params: { email } })] };
    },
    show: showList,
  });

  addAdminCommand<EmailOptions, AdminAccount>(accounts, surroundings, {
    name: 'suspend',
    summary: 'refuse all requests of an account from now on',
    options: addEmail,
    act: (client, { email }) => client.call(suspendAccount, { params: { email } }),
    show: ({ email }) => `${email} is suspended: its requests are refused. Its sandboxes run until they expire.\n`,
  });

  addAdminCommand<EmailOptions, AdminAccount>(accounts, surroundings, {
    name: 'resume',
    summary: 'serve a suspended account again',
    options: addEmail,
    act: (client, { email }) => client.call(resumeAccount, { params: { email } }),
    show: ({ email }) => `${email} is active: its requests are served.\n`,
  });

  addAdminCommand<EmailOptions & { readonly usd: string; readonly note?: string }, AdminAccount>(
    accounts,
    surroundings,
    {
      name: 'credit',
      summary: 'add credit to an account, or take some back',
      options: (command) =>
        addEmail(command)
          .requiredOption('--usd <amount>', 'how much, in USD; negative takes back, at most what is left')
          .option('--note <text>', 'what it is for; kept with the entry'),
      act: (client, { email, usd, note }) =>
        client.call(addCredit, { params: { email }, body: { usd, ...(note !== undefined && { note }) } }),
      show: ({ email, balance_usd }) => `${email} has ${showUsd(balance_usd)}.\n`,
    },
  );

  addLimits(accounts, surroundings);
}

function showCreated(account: CreatedAccount): string {
  const shown = pairs({
    Account: account.id,
    'E-mail': account.email,
    Balance: showUsd(account.balance_usd),
    'API key': account.api_key,
  });
  return `${shown}The key is shown only this once: keep it.\n`;
}

function showList({ data }: AdminAccountList): string {
  const rows = data.map((account) => [
    account.email,
    account.status,
    showUsd(account.balance_usd),
    account.created_at,
    account.id,
  ]);
  return table(['E-MAIL', 'STATUS', 'BALANCE', 'CREATED', 'ACCOUNT'], rows);
}
