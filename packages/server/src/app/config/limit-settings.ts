import { defaultLimits, type Limits } from '@mayfly/contract';
import { setting, wholeNumber } from './fields.ts';

const mebibyte = 1_048_576;

/** How far a limit may be set; from 1 to a billion unless it says otherwise. */
const bounds: Partial<Record<keyof Limits, readonly [number, number]>> = {
  defaultTimeoutMinutes: [1, 525_600],
  maxTimeoutMinutes: [1, 525_600],
  nameCharacters: [1, 10_000],
  idempotencyKeyCharacters: [1, 4_096],
  commandCharacters: [1, 1_000_000],
  minCommandTimeoutMs: [1, 86_400_000],
  defaultCommandTimeoutMs: [1, 86_400_000],
  maxCommandTimeoutMs: [1, 86_400_000],
  captureBytes: [1_024, 16 * mebibyte],
  fileBytes: [1_024, 64 * mebibyte],
  bodyBytes: [1_024, 64 * mebibyte],
  fileBodyBytes: [1_024, 96 * mebibyte],
  maxPageSize: [1, 1_000],
  defaultPageSize: [1, 1_000],
  maxUsageDays: [1, 3_650],
};

const names = Object.keys(defaultLimits) as (keyof Limits)[];

/** The setting of a limit, e.g. MAYFLY_LIMIT_REQUESTS_PER_MINUTE. */
function settingName(limit: keyof Limits): string {
  return `MAYFLY_LIMIT_${limit.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** The schema of every limit's setting. */
export const limitSettings = Object.fromEntries(
  names.map((name) => {
    const [min, max] = bounds[name] ?? [1, 1_000_000_000];
    return [settingName(name), setting(wholeNumber(min, max), defaultLimits[name])];
  }),
);

/** The limits of settings that were read. */
export function limitsFrom(settings: Readonly<Record<string, unknown>>): Limits {
  return Object.freeze(Object.fromEntries(names.map((name) => [name, Number(settings[settingName(name)])]))) as Limits &
    Record<string, number>;
}

const ordered: readonly (readonly [keyof Limits, keyof Limits])[] = [
  ['defaultTimeoutMinutes', 'maxTimeoutMinutes'],
  ['minCommandTimeoutMs', 'defaultCommandTimeoutMs'],
  ['defaultCommandTimeoutMs', 'maxCommandTimeoutMs'],
  ['defaultPageSize', 'maxPageSize'],
  ['fileBytes', 'fileBodyBytes'],
];

/** What is wrong with limits that each are fine by themselves. */
export function limitProblems(limits: Limits): readonly string[] {
  return ordered
    .filter(([low, high]) => limits[low] > limits[high])
    .map(([low, high]) => `${settingName(low)} (${limits[low]}) is above ${settingName(high)} (${limits[high]})`);
}
