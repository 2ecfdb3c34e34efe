import {
  type AccountLimitField,
  type AdminLimits,
  accountLimitFieldNames,
  getLimits,
  type SetLimitsBody,
  setLimits,
} from '@mayfly/contract/admin/limits.ts';
import type { Command } from 'commander';
import { table } from '../output/table.ts';
import type { Surroundings } from '../surroundings.ts';
import { addAdminCommand } from './admin-command.ts';
import { addEmail, type EmailOptions } from './email-option.ts';

/** What the options are called in a parsed command line. */
type LimitOptions = EmailOptions & { readonly reset?: true } & Readonly<Record<string, unknown>>;

const meanings: Readonly<Record<AccountLimitField, string>> = {
  concurrent_sandboxes: 'sandboxes at once',
  requests_per_minute: 'requests in a minute',
  creations_per_minute: 'new sandboxes in a minute',
  max_timeout_minutes: 'longest life of a sandbox',
  api_keys: 'active API keys',
};

const optionOf = (field: AccountLimitField) => `--${field.replaceAll('_', '-')}`;
const attributeOf = (field: AccountLimitField) =>
  field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** `mayfly admin accounts limits`: shows an account's limits, after setting those that are given. */
export function addLimits(accounts: Command, surroundings: Surroundings): void {
  addAdminCommand<LimitOptions, AdminLimits>(accounts, surroundings, {
    name: 'limits',
    summary: 'show the limits of an account, or set some',
    options: (command) => {
      addEmail(command);
      for (const field of accountLimitFieldNames) command.option(`${optionOf(field)} <n|default>`, meanings[field]);
      return command.option('--reset', 'let all that are not given follow the service');
    },
    act: async (client, options) => {
      const params = { email: options.email };
      const body = changesOf(options);
      if (Object.keys(body).length === 0) return await client.call(getLimits, { params });
      return await client.call(setLimits, { params, body });
    },
    show: showLimits,
  });
}

/** What is to be changed. Text that is no number is left for the schema to refuse. */
function changesOf(options: LimitOptions): SetLimitsBody {
  const changes = accountLimitFieldNames.flatMap((field) => {
    const given = options[attributeOf(field)];
    if (given === undefined) return options.reset ? [[field, null]] : [];
    if (given === 'default') return [[field, null]];
    return [[field, typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given]];
  });
  return Object.fromEntries(changes) as SetLimitsBody;
}

function showLimits({ limits, own }: AdminLimits): string {
  const rows = accountLimitFieldNames.map((field) => [
    optionOf(field).slice(2),
    String(limits[field]),
    own[field] === undefined ? 'the service' : 'this account',
  ]);
  return table(['LIMIT', 'VALUE', 'SET FOR'], rows);
}
