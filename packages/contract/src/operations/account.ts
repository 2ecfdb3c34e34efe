import { z } from 'zod';
import { integerParameter, parameterOr } from '../fields.ts';
import { fixedLimits } from '../limits.ts';
import { accountSchema, usageSchema } from '../resources/account.ts';
import { operation } from './operation.ts';

export const defaultUsageDays = 30;

/** GET /account */
export const getAccount = operation({
  id: 'getAccount',
  method: 'GET',
  path: '/account',
  tag: 'Account',
  summary: 'Account details',
  description: 'The account that the API key belongs to, with its balance, limits and prices.',
  responses: { 200: accountSchema },
  outcomes: { 200: 'The account.' },
  errors: [],
});

/** GET /usage */
export const getUsage = operation({
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  tag: 'Account',
  summary: 'Usage summary',
  description: 'Usage over the last `days` days, including sandboxes that are still running.',
  query: z.object({
    days: parameterOr(integerParameter('days', 1, fixedLimits.maxUsageDays), defaultUsageDays).describe(
      'The length of the period in days, up to now.',
    ),
  }),
  responses: { 200: usageSchema },
  outcomes: { 200: 'The summary.' },
  errors: ['invalid_request'],
});
