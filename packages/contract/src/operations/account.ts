import { z } from 'zod';
import { integerParameter, parameterOr } from '../fields.ts';
import type { Limits } from '../limits.ts';
import { accountSchema } from '../resources/account.ts';
import { usageSchema } from '../resources/usage.ts';
import { operation } from './operation.ts';

const defaultUsageDays = 30;

/** GET /account */
export const getAccount = operation({
  id: 'getAccount',
  method: 'GET',
  path: '/account',
  tag: 'Account',
  summary: 'Account details',
  description: 'The account that the key belongs to, with its balance, limits and prices.',
  responses: { 200: accountSchema },
  outcomes: { 200: 'The account.' },
  errors: [],
});

/** GET /usage; the default is filled in. */
export function getUsage(limits: Limits) {
  return operation({
    id: 'getUsage',
    method: 'GET',
    path: '/usage',
    tag: 'Account',
    summary: 'Usage summary',
    description: 'Over the last so many days, what runs now included.',
    query: z.object({
      days: parameterOr(
        integerParameter('days', 1, limits.maxUsageDays),
        Math.min(defaultUsageDays, limits.maxUsageDays),
      ).describe('How many days back the summary goes.'),
    }),
    responses: { 200: usageSchema },
    outcomes: { 200: 'The summary.' },
    errors: ['invalid_request'],
  });
}
