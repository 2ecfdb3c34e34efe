import { expect, test } from 'vitest';
import { account, insertRunning } from '../../../test/store/fixtures.ts';
import { openSqliteStore } from '../../store/sqlite/open.ts';
import { noMetrics } from '../ports/metrics.ts';
import { measuredStore } from './measured-store.ts';

test('money that went through the store is counted, and what failed', async () => {
  const seen: unknown[] = [];
  const store = measuredStore(await openSqliteStore(':memory:'), {
    ...noMetrics,
    charged: (microUsd) => seen.push(['charged', microUsd]),
    credited: (microUsd) => seen.push(['credited', microUsd]),
    storeFailed: (operation) => seen.push(['failed', operation]),
  });
  await store.accounts.createFirst(account);
  await store.accounts.createFirst(account);
  const credit = { id: 'c', accountId: account.id, amountMicroUsd: -5, createdAtMs: 1, note: '' };
  await store.ledger.addCredit(credit);
  const running = await insertRunning(store, 'sbx_a');
  const end = { status: 'deleting', charge: { amountMicroUsd: 7, runtimeMs: 1, atMs: 2 } } as const;
  await store.sandboxes.change(running, end);
  await store.sandboxes.change(running, end);
  await store.close();
  await expect(store.ledger.addCredit({ ...credit, id: 'd' })).rejects.toThrow();
  await expect(store.sandboxes.find(account.id, 'sbx_a')).rejects.toThrow();
  expect(seen).toEqual([
    ['credited', account.openingCreditMicroUsd],
    ['credited', -5],
    ['charged', 7],
    ['failed', 'ledger.addCredit'],
    ['failed', 'sandboxes.find'],
  ]);
});
