import {
  type AccountLimitField,
  type AdminAccount,
  type AdminAccountList,
  type AdminLimits,
  accountLimitFieldNames,
  addCredit,
  type CreatedAccount,
  createAccount,
  createLoginLink,
  getAccount,
  getLimits,
  inviteAccount,
  listAccounts,
  resetPassword,
  resumeAccount,
  type SetLimitsBody,
  type SignInLink,
  type SuspendedAccount,
  setLimits,
  suspendAccount,
} from '@mayfly/contract/admin';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { pairs, showUsd, table } from '../output.ts';
import { addAdminCommand, addEmail, type EmailOptions } from './admin-command.ts';
import { showSandboxes } from './sandboxes.ts';

/** `mayfly admin accounts …` */
export function addAccounts(admin: Command, io: CliIo): void {
  const accounts = admin
    .command('accounts')
    .summary('create and manage accounts')
    .description('Create, list, suspend and resume accounts, and manage their credit and limits.')
    .helpCommand(false);

  addAdminCommand<EmailOptions & { readonly credit?: string }, CreatedAccount>(accounts, io, {
    name: 'create',
    summary: 'create an account and print its first API key',
    options: (command) => addEmail(command).option('--credit <usd>', 'initial credit in USD (default: 0)'),
    act: (client, { email, credit }) =>
      client.call(createAccount, { body: { email, ...(credit !== undefined && { credit_usd: credit }) } }),
    show: showCreated,
  });

  addAdminCommand<Partial<EmailOptions>, AdminAccountList>(accounts, io, {
    name: 'list',
    summary: 'list accounts, oldest first',
    options: (command) => command.option('--email <address>', 'show only this account'),
    act: async (client, { email }) => {
      if (email === undefined) return await client.call(listAccounts, {});
      return { object: 'list', data: [await client.call(getAccount, { params: { email } })] };
    },
    show: showList,
  });

  addAdminCommand<EmailOptions & { readonly destroy?: true }, SuspendedAccount>(accounts, io, {
    name: 'suspend',
    summary: 'suspend an account: reject all of its requests and close its previews',
    options: (command) => addEmail(command).option('--destroy', 'also destroy all of its sandboxes'),
    act: (client, { email, destroy = false }) => client.call(suspendAccount, { params: { email }, body: { destroy } }),
    show: showSuspended,
  });

  addAdminCommand<EmailOptions, AdminAccount>(accounts, io, {
    name: 'resume',
    summary: 'resume a suspended account',
    options: addEmail,
    act: (client, { email }) => client.call(resumeAccount, { params: { email } }),
    show: ({ email }) => `${email} is active again.\n`,
  });

  addAdminCommand<EmailOptions & { readonly usd: string; readonly note?: string }, AdminAccount>(accounts, io, {
    name: 'credit',
    summary: 'add or withdraw credit',
    options: (command) =>
      addEmail(command)
        .requiredOption('--usd <amount>', 'amount in USD; a negative amount withdraws credit, at most the balance')
        .option('--note <text>', 'note to store with the ledger entry'),
    act: (client, { email, usd, note }) =>
      client.call(addCredit, { params: { email }, body: { usd, ...(note !== undefined && { note }) } }),
    show: ({ email, balance_usd }) => `The balance of ${email} is ${showUsd(balance_usd)}.\n`,
  });

  addSignIn(accounts, io);
  addLimits(accounts, io);
}

/** Links to the dashboard. */
function addSignIn(accounts: Command, io: CliIo): void {
  addAdminCommand<EmailOptions & { readonly credit?: string }, SignInLink>(accounts, io, {
    name: 'invite',
    summary: 'print a link to the dashboard for somebody new, and create the account if there is none',
    options: (command) =>
      addEmail(command).option('--credit <usd>', 'initial credit in USD if the account is created (default: 0)'),
    act: (client, { email, credit }) =>
      client.call(inviteAccount, { body: { email, ...(credit !== undefined && { credit_usd: credit }) } }),
    show: showLink,
  });

  addAdminCommand<EmailOptions, SignInLink>(accounts, io, {
    name: 'login-link',
    summary: 'print a link that signs in to the dashboard once',
    options: addEmail,
    act: (client, { email }) => client.call(createLoginLink, { params: { email } }),
    show: showLink,
  });

  addAdminCommand<EmailOptions, SignInLink>(accounts, io, {
    name: 'reset-password',
    summary: 'remove the password and two-factor authentication of an account, end its sessions, and print a link',
    options: addEmail,
    act: (client, { email }) => client.call(resetPassword, { params: { email } }),
    show: showLink,
  });
}

function showLink({ email, url, expires_at, account_created }: SignInLink): string {
  const created = account_created ? `Created the account ${email}.\n` : '';
  return `${created}${url}\nThe link signs in as ${email}. It works once, until ${expires_at}.\n`;
}

function showSuspended({ email, destroyed }: SuspendedAccount): string {
  const effect = `${email} is suspended. Its requests are rejected and its previews are closed.`;
  if (destroyed.length === 0) return `${effect} Sandboxes that are running continue until they expire.\n`;
  return `${effect} Its sandboxes are destroyed:\n${showSandboxes({ object: 'list', data: destroyed })}`;
}

function showCreated(account: CreatedAccount): string {
  const shown = pairs({
    Account: account.id,
    'E-mail': account.email,
    Balance: showUsd(account.balance_usd),
    'API key': account.api_key,
  });
  return `${shown}Save the API key now. It is not shown again.\n`;
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

type LimitOptions = EmailOptions & { readonly reset?: true } & Readonly<Record<string, unknown>>;

const limitDescriptions: Readonly<Record<AccountLimitField, string>> = {
  concurrent_sandboxes: 'concurrent sandboxes',
  requests_per_minute: 'requests per minute',
  creations_per_minute: 'sandbox creations per minute',
  max_timeout_minutes: 'maximum lifetime of a sandbox, in minutes',
  api_keys: 'active API keys',
  stored_output_mb: 'stored output of commands, in MiB',
  snapshots: 'snapshots',
  snapshot_storage_mb: 'disk space of snapshots, in MiB',
};

/** `mayfly admin accounts limits`: shows the limits of an account, after changing those that are given. */
function addLimits(accounts: Command, io: CliIo): void {
  addAdminCommand<LimitOptions, AdminLimits>(accounts, io, {
    name: 'limits',
    summary: 'show or change the limits of an account',
    options: (command) => {
      addEmail(command);
      for (const field of accountLimitFieldNames) {
        command.option(`${limitOption(field)} <n|default>`, limitDescriptions[field]);
      }
      return command.option('--reset', "reset all limits that are not given to the service's");
    },
    act: async (client, options) => {
      const params = { email: options.email };
      const body = limitChanges(options);
      if (Object.keys(body).length === 0) return await client.call(getLimits, { params });
      return await client.call(setLimits, { params, body });
    },
    show: showLimits,
  });
}

function limitOption(field: AccountLimitField): string {
  return `--${field.replaceAll('_', '-')}`;
}

/** Reads the changes from the options. A value that is not a number is left for the schema to reject. */
function limitChanges(options: LimitOptions): SetLimitsBody {
  const changes = accountLimitFieldNames.flatMap((field) => {
    const optionKey = field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    const given = options[optionKey];
    if (given === undefined) return options.reset ? [[field, null]] : [];
    if (given === 'default') return [[field, null]];
    return [[field, typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given]];
  });
  return Object.fromEntries(changes) as SetLimitsBody;
}

function showLimits({ limits, own }: AdminLimits): string {
  const rows = accountLimitFieldNames.map((field) => [
    limitOption(field).slice(2),
    String(limits[field]),
    own[field] === undefined ? 'service' : 'account',
  ]);
  return table(['LIMIT', 'VALUE', 'SET BY'], rows);
}
