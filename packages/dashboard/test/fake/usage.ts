import type { AccountLimitsInUse, UsageDay, UsageDays } from '@mayfly/contract/dashboard';
import type { FakeArea } from './area.ts';

const dayMs = 86_400_000;
const gibibyte = 1024 ** 3;

function dateBefore(days: number): string {
  return new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);
}

/** A number from 0 to 1 that is the same in every picture. */
function noise(seed: number): number {
  return Math.abs(Math.sin(seed * 12.9898) * 43_758.5453) % 1;
}

/** What an account with a nightly build, tests on working days and stored snapshots uses. */
function usageDays(days: number): UsageDays {
  const data = Array.from({ length: days }, (_, index) => days - 1 - index).flatMap((before): readonly UsageDay[] => {
    const date = dateBefore(before);
    const isWeekend = [0, 6].includes(new Date(date).getUTCDay());
    const entry = (item: UsageDay['item'], cost_usd: number, runtimeHours: number, sandboxes: number): UsageDay => ({
      date,
      item,
      cost_usd: Math.round(cost_usd * 1e6) / 1e6,
      runtime_seconds: Math.round(runtimeHours * 3_600),
      sandboxes,
    });
    const small = isWeekend ? 0 : 4 + noise(before) * 22;
    const medium = isWeekend ? 0.4 : noise(before + 7) * 9;
    const large = 1 + noise(before + 31) * 3;
    return [
      ...(small > 0 ? [entry('small', small * 0.05, small, Math.round(small * 4))] : []),
      entry('medium', medium * 0.1, medium, Math.round(medium)),
      entry('large', large * 0.2, large, 1),
      ...(before > 60 ? [entry('unknown', 0.3, 3, 5)] : []),
      entry('storage', 0.084, 0, 0),
    ];
  });
  return {
    object: 'usage_days',
    at: new Date().toISOString(),
    first_date: dateBefore(days - 1),
    last_date: dateBefore(0),
    balance_usd: 98.7512,
    running: [
      { size: 'small', sandboxes: 3, usd_per_hour: 0.15 },
      { size: 'large', sandboxes: 1, usd_per_hour: 0.2 },
    ],
    storage_usd_per_hour: 0.0035,
    data,
  };
}

const limits: AccountLimitsInUse = {
  object: 'limits',
  quotas: {
    concurrent_sandboxes: { used: 4, limit: 20 },
    snapshots: { used: 17, limit: 20 },
    snapshot_bytes: { used: 41.7 * gibibyte, limit: 100 * gibibyte },
    api_keys: { used: 10, limit: 10 },
    terminals: { used: 2, limit: 64 },
    streams: { used: 1, limit: 100 },
    stored_output_bytes: { used: 0.18 * gibibyte, limit: gibibyte },
  },
  per_sandbox: {
    max_timeout_minutes: 1_440,
    background_commands: 64,
    terminals: 16,
    streams: 32,
    file_bytes: 8 * 1024 ** 2,
  },
  windows: {
    requests: { limit: 120, remaining: 71, resets_in_seconds: 42 },
    creations: { limit: 40, remaining: 3, resets_in_seconds: 42 },
    dashboard_requests: { limit: 600, remaining: 574, resets_in_seconds: 42 },
  },
};

export const usageArea: FakeArea = {
  answer: ({ operation, parameters }, state) => {
    if (operation === 'GET /limits') return { body: limits };
    if (operation !== 'GET /usage/days') return undefined;
    const usage = usageDays(Number(parameters.get('days')));
    const nothing = { running: [], storage_usd_per_hour: 0, data: [] };
    return { body: state.hasSandboxes ? usage : { ...usage, ...nothing } };
  },
};
