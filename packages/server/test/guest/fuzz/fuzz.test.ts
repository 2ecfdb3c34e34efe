import { afterAll, expect, it } from 'vitest';
import { fuzz, fuzzTimeoutMs } from '../fuzz.ts';
import { guestTargets } from './targets.ts';

const escaped: unknown[] = [];
const onEscape = (error: unknown) => escaped.push(error);
process.on('uncaughtException', onEscape);
afterAll(() => {
  process.off('uncaughtException', onEscape);
  expect(escaped).toEqual([]);
});

it.each(Object.entries(guestTargets))('%s survives', { timeout: fuzzTimeoutMs }, async (name, target) => {
  await fuzz(name, target);
});
