import { fixedLimits } from '@mayfly/contract';
import {
  type AccountLimitsInUse,
  dashboardOperations,
  type RateWindow,
  type UsageDays,
} from '@mayfly/contract/dashboard';
import { type AccountUseNeeds, getAccountUse } from '../../core/accounts/account-use.ts';
import { type BalanceNeeds, usdOf } from '../../core/money/balance.ts';
import { dateOf } from '../../core/money/days.ts';
import { getUsageByDay, type UsageByDay } from '../../core/money/usage-days.ts';
import type { WindowState } from '../../core/windows/rate-windows.ts';
import { routeOf } from '../contract-routes.ts';
import type { HttpApp } from '../http-app.ts';
import { isoTime } from '../views.ts';
import { sessionOf } from './session-access.ts';

export type UsageRouteNeeds = BalanceNeeds & AccountUseNeeds;

/** /usage/days and /limits: what the account spends, and how much of its limits it uses. */
export function usageRoutes(app: HttpApp, core: UsageRouteNeeds): void {
  app.route({
    ...routeOf(dashboardOperations.listUsageDays),
    handler: async (request): Promise<UsageDays> =>
      usageDaysView(await getUsageByDay(core, sessionOf(request).account, request.query.days)),
  });

  app.route({
    ...routeOf(dashboardOperations.getLimits),
    handler: async (request): Promise<AccountLimitsInUse> =>
      limitsView(await getAccountUse(core, sessionOf(request).account)),
  });
}

function usageDaysView(usage: UsageByDay): UsageDays {
  return {
    object: 'usage_days',
    at: isoTime(usage.nowMs),
    first_date: dateOf(usage.firstDay),
    last_date: dateOf(usage.lastDay),
    balance_usd: usdOf(usage.balanceMicroUsd),
    running: usage.running.map(({ size, sandboxes, microUsdPerHour }) => ({
      size,
      sandboxes,
      usd_per_hour: usdOf(microUsdPerHour),
    })),
    storage_usd_per_hour: usdOf(usage.storageMicroUsdPerHour),
    data: usage.days.map(({ day, item, amountMicroUsd, runtimeMs, sandboxes }) => ({
      date: dateOf(day),
      item,
      cost_usd: usdOf(amountMicroUsd),
      runtime_seconds: runtimeMs / 1_000,
      sandboxes,
    })),
  };
}

function limitsView(use: Awaited<ReturnType<typeof getAccountUse>>): AccountLimitsInUse {
  return {
    object: 'limits',
    quotas: {
      concurrent_sandboxes: use.sandboxes,
      snapshots: use.snapshots,
      snapshot_bytes: use.snapshotBytes,
      api_keys: use.apiKeys,
      stored_output_bytes: use.storedOutputBytes,
      terminals: use.terminals,
      streams: use.streams,
    },
    per_sandbox: {
      max_timeout_minutes: use.maxTimeoutMinutes,
      background_commands: fixedLimits.backgroundCommandsPerSandbox,
      terminals: fixedLimits.terminalsPerSandbox,
      streams: fixedLimits.streamsPerSandbox,
      file_bytes: use.fileBytes,
    },
    windows: {
      requests: windowView(use.windows.requests),
      creations: windowView(use.windows.creations),
      dashboard_requests: windowView(use.windows.sessions),
    },
  };
}

function windowView({ limit, remaining, resetSeconds }: WindowState): RateWindow {
  return { limit, remaining, resets_in_seconds: resetSeconds };
}
