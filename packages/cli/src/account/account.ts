import { type Account, toApi, type Usage } from '@mayfly/sdk';
import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { parseInteger } from '../numbers.ts';
import { fields, showUsd } from '../output.ts';
import { addServiceCommand } from '../service/service-command.ts';

/** `mayfly account` and `mayfly usage` */
export function addAccount(program: Command, io: CliIo): void {
  addServiceCommand<[], unknown, { readonly account: Account; readonly url: string }>(program, io, {
    name: 'account',
    summary: 'show your account: balance, limits and prices',
    act: async ({ mayfly, signal }) => ({ account: await mayfly.account({ signal }), url: mayfly.baseUrl }),
    json: ({ account }) => toApi(account),
    show: ({ account: { id, email, balanceUsd, limits, pricingUsdPerHour }, url }, screen) =>
      fields(
        {
          Account: id,
          'E-mail': email,
          Service: url,
          Balance: showUsd(balanceUsd),
          'Sandboxes at once': String(limits.concurrentSandboxes),
          'Longest lifetime': `${limits.maxTimeoutMinutes} minutes`,
          'Price per hour': Object.entries(pricingUsdPerHour)
            .map(([size, usd]) => `${size} ${showUsd(usd)}`)
            .join(', '),
        },
        screen,
      ),
  });

  addServiceCommand<[], { readonly days?: string }, Usage>(program, io, {
    name: 'usage',
    summary: 'show what was used and spent in the last days',
    options: (command) => command.option('--days <days>', 'the number of days (default: 30)'),
    act: ({ mayfly, signal }, { days }) =>
      mayfly.usage({ signal, ...(days !== undefined && { days: parseInteger('--days', days) }) }),
    json: toApi,
    show: (usage, screen) =>
      fields(
        {
          Period: `${usage.periodDays} days`,
          Spent: showUsd(usage.spentUsd),
          'of which snapshots': showUsd(usage.snapshotStorageUsd),
          'Credit added': showUsd(usage.addedUsd),
          Balance: showUsd(usage.balanceUsd),
          'Sandboxes created': String(usage.sandboxesCreated),
          Runtime: `${usage.runtimeMinutes} minutes`,
        },
        screen,
      ),
  });
}
