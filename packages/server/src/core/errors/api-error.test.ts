import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorTable } from '@mayfly/contract';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../..');

/** What the error table says of the limits in each file that answers `rate_limit_exceeded`. */
const limited: Readonly<Record<string, readonly string[]>> = {
  'core/accounts/tickets.ts': ['unused tickets'],
  'core/budgets/held-body.ts': ['large requests'],
  'core/budgets/held-result.ts': ['unread large responses'],
  'core/executions/admit.ts': ['too many commands'],
  'core/executions/live/control.ts': ['too much input for a command'],
  'core/executions/live/open-streams.ts': ['streams'],
  'core/executions/live/start.ts': ['too many commands'],
  'core/terminals/terminals.ts': ['terminals'],
  'http/access.ts': ['Too many requests', 'sandbox creations'],
};

/** Those of people who sign in to the dashboard, whose operations are not part of the API. */
const signingIn = ['core/sign-in/attempts.ts', 'core/sign-in/passwords.ts'];

test('the error table names every limit that a 429 can come from', () => {
  const answering = globSync('**/*.ts', { cwd: source })
    .filter((path) => !path.endsWith('.test.ts'))
    .filter((path) => /(?<!=== )'rate_limit_exceeded'/.test(readFileSync(join(source, path), 'utf8')));
  expect(answering.sort()).toEqual([...Object.keys(limited), ...signingIn].sort());
  const { cause } = errorTable.rate_limit_exceeded;
  expect(Object.values(limited).filter((limits) => !limits.every((limit) => cause.includes(limit)))).toEqual([]);
});
